"""What Aiven's plugin has uploaded is ingested with what the brokers' disks have, as one log."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seglake.cli.cat_command import main as cat
from seglake.pipelines.lake_audit.disk_check.disk_check_report import to_text
from seglake.task_engine.engine import Engine
from support import aiven_objects
from support.audits import audited, checked
from support.broker_disks import unpacked
from support.counted_reads import counted
from support.encoder.internal import compact, uvarint
from support.lakes import ingested, read_table, replayed
from support.tiers import (
    COPY_FINISHED,
    Place,
    TieredDisk,
    add_events,
    consumed,
    gaps_of,
    id_of,
    in_lake,
    updated,
)

_PLAIN, _ZSTD, _ENC = "30_tier_aiven_plain", "31_tier_aiven_zstd", "32_tier_aiven_enc"
_CLUSTER = {"source_id": "tiered"}
_KEYS = {"keys": {"key1": str(aiven_objects.key_file())}}
_EVERY = [(_PLAIN, {}), (_ZSTD, {}), (_ENC, _KEYS)]

Tiered = dict[str, Any]


def copied(scenario: str, into: Path) -> Path:
    return Path(shutil.copytree(unpacked(scenario), into / "disk"))


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize(("scenario", "tiered"), _EVERY)
def test_local_and_remote_segments_are_the_log_that_a_consumer_got(
    scenario: str, tiered: Tiered, isolation: str, engine: Engine, lake: Path
) -> None:
    summary = ingested(unpacked(scenario), lake, isolation=isolation, engine=engine, tiered=tiered)
    assert summary.exit_code == 0
    assert in_lake(lake) == consumed(scenario, isolation)
    assert {row["cause"] for row in read_table(lake, "gaps")} <= {"deleted"}
    again = ingested(unpacked(scenario), lake, isolation=isolation, engine=engine, tiered=tiered)
    assert json.loads(again.to_json())["records"] == 0
    assert audited(lake).exit_code == 0


@pytest.mark.parametrize(("scenario", "tiered"), _EVERY)
def test_a_tier_alone_gives_what_it_has(
    scenario: str, tiered: Tiered, engine: Engine, lake: Path
) -> None:
    remote = unpacked(scenario) / "remote"
    summary = ingested(
        remote, lake, isolation="read_committed", engine=engine, source=_CLUSTER, tiered=tiered
    )
    assert (
        "confirms the remote segments of plain-0, plain-1, retained-0 and 2 more"
        in summary.to_text()
    )
    everything = consumed(scenario, "read_committed")
    found = in_lake(lake)
    assert found.keys() == everything.keys()
    for name, rows in found.items():
        assert rows == [row for row in everything[name] if row[0] <= rows[-1][0]]


def test_a_copy_of_the_lake_s_disks_has_the_same_records(lake: Path) -> None:
    ingested(unpacked(_ENC), lake, isolation="read_committed", tiered=_KEYS)
    assert checked(unpacked(_ENC), lake)


def first(remote: Path) -> Path:
    """The manifest of the first segment of plain-0, which no broker's disk has."""
    (found,) = remote.rglob(f"plain-*/0/{0:020d}-*.rsm-manifest")
    return found


def test_a_flipped_tag_costs_its_batches_and_is_kept_as_the_tier_has_it(
    tmp_path: Path, engine: Engine, lake: Path
) -> None:
    disk = copied(_ENC, tmp_path)
    log = first(disk / "remote").with_suffix(".log")
    content = bytearray(log.read_bytes())
    content[4124 * 2 - 1] ^= 1
    log.write_bytes(content)
    summary = ingested(disk, lake, isolation="read_committed", engine=engine, tiered=_KEYS)
    assert summary.exit_code == 3
    rows = read_table(lake, "quarantine")
    assert {row["defect_code"] for row in rows} == {"tier_chunk_bad"}
    assert all("its authentication tag is wrong" in row["defect_detail"] for row in rows)
    assert {row["raw"] for row in rows} == {bytes(content[4124 : 4124 * 2])}
    everything, found = consumed(_ENC, "read_committed"), in_lake(lake)
    (damaged,) = [name for name in everything if found[name] != everything[name]]
    lost = {start for start, *_ in everything[damaged]} - {start for start, *_ in found[damaged]}
    hidden = {
        offset
        for row in read_table(lake, "gaps")
        if row["cause"] == "quarantined"
        for offset in range(row["start_offset"], row["next_offset"])
    }
    assert 0 < len(lost) < 100
    assert lost == hidden
    assert replayed(lake, unpacked(_ENC), tiered=_KEYS).exit_code == 0
    assert in_lake(lake) == everything


def damage(kind: str, manifest: Path) -> str:
    """Damages a segment; returns what the detail of its gap says."""
    text = manifest.read_text()
    match kind:
        case "version":
            manifest.write_text(text.replace('"version":"1"', '"version":"2"'))
            return "version '2' is unknown"
        case "sizes":
            manifest.write_text(text.replace('"originalFileSize":', '"originalFileSize":1'))
            return "chunk"
        case "manifest":
            manifest.unlink()
            return ".rsm-manifest: the upload did not end, `key.prefix` was changed"
        case _:
            manifest.with_suffix(".log").unlink()
            return "the tier has no object of segment"


@pytest.mark.parametrize("kind", ["version", "sizes", "manifest", "log"])
def test_a_segment_that_cannot_be_read_is_a_gap_with_its_reason(
    kind: str, tmp_path: Path, engine: Engine, lake: Path
) -> None:
    disk = copied(_PLAIN, tmp_path)
    reason = damage(kind, first(disk / "remote"))
    summary = ingested(disk, lake, isolation="read_committed", engine=engine)
    assert summary.exit_code == 3
    ((start, stop, _, detail),) = [gap for gap in gaps_of(lake, "plain") if gap[2] == "remote"]
    assert start == 0
    assert reason in str(detail)
    everything, rows = consumed(_PLAIN, "read_committed"), in_lake(lake)
    assert rows["plain-0"] == [row for row in everything["plain-0"] if row[0] >= stop]
    assert rows | {"plain-0": everything["plain-0"]} == everything
    assert replayed(lake, unpacked(_PLAIN)).exit_code == 0
    assert in_lake(lake) == everything


def test_a_cut_object_is_read_up_to_its_end(tmp_path: Path, engine: Engine, lake: Path) -> None:
    disk = copied(_PLAIN, tmp_path)
    log = first(disk / "remote").with_suffix(".log")
    log.write_bytes(log.read_bytes()[:-10])
    assert ingested(disk, lake, isolation="read_committed", engine=engine).exit_code == 3
    (row,) = read_table(lake, "quarantine")
    assert row["defect_code"] == "tier_chunk_bad"
    assert replayed(lake, unpacked(_PLAIN)).exit_code == 0
    assert in_lake(lake) == consumed(_PLAIN, "read_committed")


def test_a_broken_frame_costs_its_batches_which_a_replay_fills(
    tmp_path: Path, engine: Engine, lake: Path
) -> None:
    disk = copied(_ZSTD, tmp_path)
    log = first(disk / "remote").with_suffix(".log")
    content = bytearray(log.read_bytes())
    content[0] ^= 0xFF
    log.write_bytes(content)
    summary = ingested(disk, lake, isolation="read_committed", engine=engine)
    assert summary.exit_code == 3
    assert {row["defect_code"] for row in read_table(lake, "quarantine")} == {"tier_chunk_bad"}
    everything, found = consumed(_ZSTD, "read_committed"), in_lake(lake)
    assert {name for name in everything if found[name] != everything[name]} == {"plain-0"}
    assert found["plain-0"] == everything["plain-0"][-len(found["plain-0"]) :]
    assert 0 < found["plain-0"][0][0] < 100
    assert replayed(lake, unpacked(_ZSTD)).exit_code == 0
    assert in_lake(lake) == everything


def test_objects_under_another_prefix_are_found_by_the_events(
    tmp_path: Path, engine: Engine, lake: Path
) -> None:
    disk = copied(_ZSTD, tmp_path)
    manifest = first(disk / "remote")
    moved = disk / "remote" / "later" / manifest.relative_to(disk / "remote" / "some" / "prefix")
    moved.parent.mkdir(parents=True)
    manifest.rename(moved)
    assert ingested(disk, lake, isolation="read_committed", engine=engine).exit_code == 0
    assert in_lake(lake) == consumed(_ZSTD, "read_committed")


def test_objects_whose_events_have_only_another_prefix_are_found(
    tmp_path: Path, engine: Engine, lake: Path
) -> None:
    """The plugin then reads them at the prefix of the events, under their own key."""
    disk = copied(_PLAIN, tmp_path)
    tier = _prefixed(disk, "kp-")
    log = min(tier.glob("kp-plain-*/0/*.log"))
    moved = tier / "earlier" / log.parent.parent.name.removeprefix("kp-") / "0" / log.name
    moved.parent.mkdir(parents=True)
    log.rename(moved)
    prefix = compact("earlier/")
    metadata = uvarint(1) + uvarint(1) + uvarint(len(prefix)) + prefix
    event = updated(Place("plain", 0, log.parent.parent), id_of(log), COPY_FINISHED, metadata)
    add_events(TieredDisk(disk / "data", tier), id_of(log), event)
    assert ingested(disk, lake, isolation="read_committed", engine=engine).exit_code == 0
    assert in_lake(lake) == consumed(_PLAIN, "read_committed")


def _prefixed(disk: Path, prefix: str) -> Path:
    """Give all topics of a tier a prefix without a slash; return the tier."""
    tier = disk / "remote"
    for folder in [*tier.iterdir()]:
        folder.rename(folder.with_name(prefix + folder.name))
    return tier


def test_a_prefix_without_a_slash_is_no_part_of_a_topic(
    tmp_path: Path, engine: Engine, lake: Path
) -> None:
    """One partition has no manifest: another one, the disk or the events name its topic."""
    select = {"topics": ["plain"]}
    disk = copied(_PLAIN, tmp_path)
    tier = _prefixed(disk, "kp-")
    everything = consumed(_PLAIN, "read_committed")
    ingested(disk, lake, isolation="read_committed", engine=engine, select=select)
    assert in_lake(lake) == {name: everything[name] for name in ("plain-0", "plain-1")}
    for manifest in tier.glob("kp-plain-*/1/*.rsm-manifest"):
        manifest.unlink()
    alone = lake.with_name("alone")
    summary = ingested(tier, alone, source=_CLUSTER, select=select)
    assert {*in_lake(alone)} == {"plain-0"}
    assert summary.exit_code == 3
    assert "plain-1 [0, " in summary.to_text()
    for manifest in tier.glob("kp-plain-*/0/*.rsm-manifest"):
        manifest.unlink()
    none = ingested(tier, lake.with_name("none"), source=_CLUSTER, select={"topics": ["p*", "tx"]})
    assert none.exit_code == 3
    reasons = [why for name, why in none.left_out.items() if "kp-plain" in name]
    assert len(reasons) == 2
    assert all("begins in kp-plain" in why for why in reasons)


def test_a_manifest_is_read_for_a_new_segment_only(lake: Path) -> None:
    _, first_run = counted(unpacked(_ZSTD), lake)
    times = Counter(first_run.manifests)
    assert times
    assert max(times.values()) <= 2  # by the survey, and by the task that decodes
    _, second_run = counted(unpacked(_ZSTD), lake)
    assert second_run.manifests == []


@pytest.mark.parametrize("scenario", [_PLAIN, _ZSTD, "33_tier_local"])
def test_a_later_run_on_a_tier_alone_reads_only_its_newest_objects(
    scenario: str, lake: Path
) -> None:
    """The last two of each partition, and the last one twice: the others end at the next one."""
    tier = unpacked(scenario) / "remote"
    _, first_run = counted(tier, lake, isolation="read_committed", source_id="tiered")
    before = in_lake(lake)
    again, later = counted(tier, lake, isolation="read_committed", source_id="tiered")
    assert json.loads(again.to_json())["records"] == 0
    assert in_lake(lake) == before
    asked, first = later.manifests or later.opened, first_run.manifests or first_run.opened
    before_of, asked_of = (
        Counter(str(Path(path).parent) for path in paths) for paths in ({*first}, asked)
    )
    assert max(before_of.values()) > 4
    assert max(asked_of.values()) <= 3


def test_a_tier_alone_that_grows_is_read_on(tmp_path: Path, engine: Engine, lake: Path) -> None:
    """One object more of each partition in each run, with open transactions in between."""
    whole = copied(_ZSTD, tmp_path) / "remote"
    partial, names = tmp_path / "partial", sorted(whole.rglob("*.rsm-manifest"))
    for count in (1, 2, 3, 4, 99):
        for folder in {path.parent for path in names}:
            for manifest in sorted(folder.glob("*.rsm-manifest"))[:count]:
                into = partial / manifest.parent.relative_to(whole)
                into.mkdir(parents=True, exist_ok=True)
                for path in manifest.parent.glob(f"{manifest.stem}.*"):
                    shutil.copy(path, into)
        ingested(partial, lake, isolation="read_committed", engine=engine, source=_CLUSTER)
    at_once = lake.with_name("at_once")
    ingested(whole, at_once, isolation="read_committed", engine=engine, source=_CLUSTER)
    assert in_lake(lake) == in_lake(at_once)
    assert audited(lake).exit_code == 0


def test_an_audit_names_the_offsets_that_a_tier_should_have(tmp_path: Path, lake: Path) -> None:
    ingested(unpacked(_PLAIN), lake, isolation="read_committed")
    disk = copied(_PLAIN, tmp_path)
    damage("log", first(disk / "remote"))
    (check,) = [each for each in checked(disk, lake) if each.partition == "plain-0"]
    text = to_text([check])
    assert "PROBLEM  not compared: the tier has no object of segment" in text
    assert ", offsets [0, 100)" in text


def test_cat_names_the_offsets_that_only_a_tier_has(capsys: pytest.CaptureFixture[str]) -> None:
    disk = unpacked(_PLAIN)
    call = ["--source", str(disk / "data"), "--topics", "plain", "--partition", "0"]
    assert cat(call) == 3
    said = capsys.readouterr()
    first = json.loads(said.out.splitlines()[0])["offset"]
    assert (
        f"plain-0: the offsets [0, {first}) are not read: they are only in a remote tier"
        in said.err
    )
    assert "damage" not in said.err
    assert cat([*call, "--offsets", f"{first}:{first + 5}"]) == 0
    assert cat(["--source", str(disk), *call[2:]]) == 0
    assert capsys.readouterr().err == ""
