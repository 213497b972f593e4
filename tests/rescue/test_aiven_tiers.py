"""What Aiven's plugin has uploaded is ingested with what the brokers' disks have, as one log."""

import json
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seglake.cli.cat_command import main as cat
from seglake.pipelines.lake_audit.disk_check.disk_check_report import to_text
from seglake.task_engine.engine import Engine
from support.audits import audited, checked
from support.broker_disks import unpacked
from support.counted_reads import counted
from support.encoder.internal import compact, uvarint
from support.lakes import ingested, read_table, replayed
from support.tiers import (
    CLUSTER,
    COPY_FINISHED,
    ENC,
    KEYS,
    LOCAL,
    PLAIN,
    ZSTD,
    Place,
    TieredDisk,
    add_events,
    consumed,
    copied,
    id_of,
    in_lake,
    later_uploads,
    new_id,
    updated,
)

_EVERY = [(PLAIN, {}), (ZSTD, {}), (ENC, KEYS)]

Tiered = dict[str, Any]


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
        remote, lake, isolation="read_committed", engine=engine, source=CLUSTER, tiered=tiered
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
    ingested(unpacked(ENC), lake, isolation="read_committed", tiered=KEYS)
    assert checked(unpacked(ENC), lake)


def first(remote: Path) -> Path:
    """The manifest of the first segment of plain-0, which no broker's disk has."""
    (found,) = remote.rglob(f"plain-*/0/{0:020d}-*.rsm-manifest")
    return found


def test_a_flipped_tag_costs_its_batches_and_is_kept_as_the_tier_has_it(
    tmp_path: Path, engine: Engine, lake: Path
) -> None:
    disk = copied(ENC, tmp_path / "disk").folder
    log = first(disk / "remote").with_suffix(".log")
    content = bytearray(log.read_bytes())
    content[4124 * 2 - 1] ^= 1
    log.write_bytes(content)
    summary = ingested(disk, lake, isolation="read_committed", engine=engine, tiered=KEYS)
    assert summary.exit_code == 3
    rows = read_table(lake, "quarantine")
    assert {row["defect_code"] for row in rows} == {"tier_chunk_bad"}
    assert all("its authentication tag is wrong" in row["defect_detail"] for row in rows)
    assert {row["raw"] for row in rows} == {bytes(content[4124 : 4124 * 2])}
    everything, found = consumed(ENC, "read_committed"), in_lake(lake)
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
    assert replayed(lake, unpacked(ENC), tiered=KEYS).exit_code == 0
    assert in_lake(lake) == everything


def test_objects_under_another_prefix_are_found_by_the_events(
    tmp_path: Path, engine: Engine, lake: Path
) -> None:
    disk = copied(ZSTD, tmp_path / "disk").folder
    manifest = first(disk / "remote")
    moved = disk / "remote" / "later" / manifest.relative_to(disk / "remote" / "some" / "prefix")
    moved.parent.mkdir(parents=True)
    manifest.rename(moved)
    assert ingested(disk, lake, isolation="read_committed", engine=engine).exit_code == 0
    assert in_lake(lake) == consumed(ZSTD, "read_committed")


def test_objects_whose_events_have_only_another_prefix_are_found(
    tmp_path: Path, engine: Engine, lake: Path
) -> None:
    """The plugin then reads them at the prefix of the events, under their own key."""
    disk = copied(PLAIN, tmp_path / "disk").folder
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
    assert in_lake(lake) == consumed(PLAIN, "read_committed")


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
    disk = copied(PLAIN, tmp_path / "disk").folder
    tier = _prefixed(disk, "kp-")
    everything = consumed(PLAIN, "read_committed")
    ingested(disk, lake, isolation="read_committed", engine=engine, select=select)
    assert in_lake(lake) == {name: everything[name] for name in ("plain-0", "plain-1")}
    for manifest in tier.glob("kp-plain-*/1/*.rsm-manifest"):
        manifest.unlink()
    alone = lake.with_name("alone")
    summary = ingested(tier, alone, source=CLUSTER, select=select)
    assert {*in_lake(alone)} == {"plain-0"}
    assert summary.exit_code == 3
    assert "plain-1 [0, " in summary.to_text()
    for manifest in tier.glob("kp-plain-*/0/*.rsm-manifest"):
        manifest.unlink()
    none = ingested(tier, lake.with_name("none"), source=CLUSTER, select={"topics": ["p*", "tx"]})
    assert none.exit_code == 3
    reasons = [why for name, why in none.left_out.items() if "kp-plain" in name]
    assert len(reasons) == 2
    assert all("begins in kp-plain" in why for why in reasons)


def test_a_manifest_is_read_for_a_new_segment_only(lake: Path) -> None:
    _, first_run = counted(unpacked(ZSTD), lake)
    times = Counter(first_run.manifests)
    assert {*times.values()} == {1}
    _, second_run = counted(unpacked(ZSTD), lake)
    assert second_run.manifests == []


@pytest.mark.parametrize("scenario", [PLAIN, ZSTD, LOCAL])
def test_runs_on_a_tier_alone_read_what_is_new_and_nothing_else(
    scenario: str, tmp_path: Path, lake: Path
) -> None:
    """Each time the tier has one upload of each partition more, and then two runs find nothing."""
    whole, tier = unpacked(scenario) / "remote", tmp_path / "tier"
    for first, stop in pairwise((0, 2, 3, 4, 99, 99, 99)):
        new = later_uploads(whole, tier, first, stop)
        summary, reads = counted(tier, lake, isolation="read_committed", source_id="tiered")
        assert {Path(path).stem for path in reads.opened} == new
        assert bool(new) == bool(summary.records)
        assert {Path(path).stem for path in reads.manifests} <= new
        # The first one of a new partition is read once more, since it names the topic.
        assert max(Counter(reads.manifests).values(), default=0) <= (1 if first else 2)
    at_once = lake.with_name("at_once")
    ingested(whole, at_once, isolation="read_committed", source=CLUSTER)
    assert in_lake(lake) == in_lake(at_once)


@pytest.mark.parametrize("is_beside_a_disk", [False, True])
def test_the_ends_of_uploads_that_no_event_describes_are_read_once(
    is_beside_a_disk: bool, tmp_path: Path, lake: Path
) -> None:
    """The last segment lies there twice: only their leader epochs tell which one is in the log."""
    disk = copied(PLAIN, tmp_path / "disk").folder
    for events in disk.glob("data/__remote_log_metadata-*"):
        shutil.rmtree(events)
    last = max(disk.rglob("remote/**/plain-*/0/*.rsm-manifest"))
    segment_id, other_id = last.stem[21:], new_id()
    for path in last.parent.glob(f"*{segment_id}*"):
        shutil.copy(path, path.with_name(path.name.replace(segment_id, other_id)))
    other = last.with_name(last.name.replace(segment_id, other_id))
    other.write_text(other.read_text().replace(segment_id, other_id))
    sources = [disk / "data"] * is_beside_a_disk + [disk / "remote"]
    name, counts = "" if is_beside_a_disk else "tiered", []
    for _ in range(3):
        summary, reads = counted(sources, lake, isolation="read_committed", source_id=name)
        counts.append((bool(summary.records), len(reads.manifests) > 0, len(reads.opened) > 0))
    assert counts == [(True, True, True), (False, False, False), (False, False, False)]
    at_once = lake.with_name("at_once")
    source = {"source_id": name} if name else {}
    ingested(sources, at_once, isolation="read_committed", source=source)
    assert in_lake(lake) == in_lake(at_once)


def test_a_tier_alone_that_grows_is_read_on(tmp_path: Path, engine: Engine, lake: Path) -> None:
    """One object more of each partition in each run, with open transactions in between."""
    whole, partial = unpacked(ZSTD) / "remote", tmp_path / "partial"
    for first, stop in pairwise((0, 1, 2, 3, 4, 99)):
        later_uploads(whole, partial, first, stop)
        for path in partial.rglob("*.log"):
            path.touch()  # a copy that has new times is read again
        ingested(partial, lake, isolation="read_committed", engine=engine, source=CLUSTER)
    at_once = lake.with_name("at_once")
    ingested(whole, at_once, isolation="read_committed", engine=engine, source=CLUSTER)
    assert in_lake(lake) == in_lake(at_once)
    assert audited(lake).exit_code == 0


def test_an_audit_names_the_offsets_that_a_tier_should_have(tmp_path: Path, lake: Path) -> None:
    ingested(unpacked(PLAIN), lake, isolation="read_committed")
    disk = copied(PLAIN, tmp_path / "disk").folder
    first(disk / "remote").with_suffix(".log").unlink()
    (check,) = [each for each in checked(disk, lake) if each.partition == "plain-0"]
    text = to_text([check])
    assert "PROBLEM  not compared: the tier has no object of segment" in text
    assert ", offsets [0, 100)" in text


def test_cat_names_the_offsets_that_only_a_tier_has(capsys: pytest.CaptureFixture[str]) -> None:
    disk = unpacked(PLAIN)
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
