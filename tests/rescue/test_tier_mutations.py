"""Each way in which an object of a tier may be false, absent or damaged, in each layout.

Nothing is made up; each offset that is lacking is in a gap with a reason; what else the tier has is
read; and the whole tier brings everything. Changed events are in `test_tier_events`, other places
in `test_aiven_tiers`, keys in `test_tier_keys`.
"""

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import zstandard

from seglake.pipelines.lake_retake.retake_plan import Selection
from seglake.task_engine.engine import Engine
from support import aiven_objects
from support.audits import audited
from support.broker_disks import unpacked
from support.lakes import ingested, read_table, replayed, retaken
from support.tiers import AIVEN, ENC, KEYS, LOCAL, PLAIN, ZSTD, consumed, copied, gaps_of, in_lake


class Mutation(NamedTuple):
    """A change of one segment's objects.

    Attributes:
        change: takes the `.log`.
        reason: part of the detail of the gap or of the quarantined bytes.
        scenarios: data sets whose tiers it may happen to.
    """

    name: str
    change: Callable[[Path], None]
    reason: str
    scenarios: tuple[str, ...]


def _cut(stop: int) -> Callable[[Path], None]:
    return lambda log: _write(log, log.read_bytes()[:stop])


def _flipped(position: int) -> Callable[[Path], None]:
    def change(log: Path) -> None:
        content = bytearray(log.read_bytes())
        content[position] ^= 1
        _write(log, content)

    return change


def _write(path: Path, content: bytes | bytearray) -> None:
    path.write_bytes(content)


def _manifest(log: Path) -> Path:
    return log.with_suffix(".rsm-manifest")


def _field(*names: str, to: Any) -> Callable[[Path], None]:  # Any: JSON
    """Set a field of the manifest."""

    def change(log: Path) -> None:
        manifest = json.loads(_manifest(log).read_text())
        *above, last = names
        part = manifest
        for name in above:
            part = part[name]
        part[last] = to
        _manifest(log).write_text(json.dumps(manifest))

    return change


def _of_the_next_segment(suffix: str) -> Callable[[Path], None]:
    def change(log: Path) -> None:
        following = sorted(log.parent.glob(f"*{suffix}"))[1]
        shutil.copy(following, log.with_suffix(suffix))

    return change


def _claims_more(log: Path) -> None:
    """Put a frame in place of the first one that says it has more than a chunk."""
    (size, *_) = _stored_sizes(_manifest(log))
    frame = zstandard.ZstdCompressor(level=19).compress(b"\0" * (1 << 24))
    content = log.read_bytes()
    _write(log, frame[:size].ljust(size, b"\0") + content[size:])


def _stored_sizes(manifest: Path) -> list[int]:
    """The sizes of the chunks in the object, which the plugin packs."""
    packed = json.loads(manifest.read_text())["chunkIndex"]["transformedChunks"]
    data = zstandard.ZstdDecompressor().decompress(base64.b64decode(packed))
    count, base, width = int.from_bytes(data[:4]), int.from_bytes(data[4:8]), data[8]
    each = [data[9 + at * width : 9 + (at + 1) * width] for at in range(count - 1)]
    return [base + int.from_bytes(size) for size in each] + [int.from_bytes(data[-4:])]


_COMMITTED = {"isolation": "read_committed"}
_FEW = base64.b64encode(zstandard.ZstdCompressor().compress(aiven_objects.packed_sizes([7, 7])))
_OTHER = "it belongs to segment"

_MUTATIONS = (
    Mutation("no_manifest", lambda log: _manifest(log).unlink(), "the upload did not end", AIVEN),
    Mutation(
        "empty_manifest",
        lambda log: _write(_manifest(log), b""),
        "the manifest is not JSON",
        AIVEN,
    ),
    Mutation(
        "cut_manifest", lambda log: _cut(99)(_manifest(log)), "the manifest is not JSON", AIVEN
    ),
    Mutation("no_log", Path.unlink, "the tier has no object of segment", (*AIVEN, LOCAL)),
    Mutation("empty_log", _cut(0), "", AIVEN),
    Mutation("empty_file", _cut(0), "is empty, and should have 19957 bytes", (LOCAL,)),
    Mutation("cut_log", _cut(-300), "", (*AIVEN, LOCAL)),
    Mutation("version", _field("version", to="2"), "version '2' is unknown", AIVEN),
    Mutation(
        "index_type", _field("chunkIndex", "type", to="new"), "is unknown, expected fixed", AIVEN
    ),
    Mutation(
        "size_of_segment",
        _field("chunkIndex", "originalFileSize", to=100_000),
        "chunk",
        AIVEN,
    ),
    Mutation("size_of_chunk", _field("chunkIndex", "originalChunkSize", to=0), "a number", AIVEN),
    Mutation(
        "count_of_sizes",
        _field("chunkIndex", "transformedChunks", to=_FEW.decode()),
        "sizes of 2 chunks, expected",
        (ZSTD,),
    ),
    Mutation(
        "size_of_last_chunk",
        _field("chunkIndex", "finalTransformedChunkSize", to=7),
        "bytes for a segment of",
        (PLAIN, ENC),
    ),
    Mutation("manifest_of_another", _of_the_next_segment(".rsm-manifest"), _OTHER, AIVEN),
    Mutation("log_of_another", _of_the_next_segment(".log"), "", (*AIVEN, LOCAL)),
    Mutation("first_byte_of_tag", _flipped(4124 - 16), "tag is wrong", (ENC,)),
    Mutation("last_byte_of_tag", _flipped(4124 * 2 - 1), "tag is wrong", (ENC,)),
    Mutation("iv", _flipped(0), "tag is wrong", (ENC,)),
    Mutation("ciphertext", _flipped(2000), "tag is wrong", (ENC,)),
    Mutation("frame", _flipped(0), "compressed bytes are broken", (ZSTD,)),
    Mutation("inside_a_frame", _flipped(200), "", (ZSTD,)),
    Mutation("frame_claims_more", _claims_more, "compressed bytes are broken", (ZSTD,)),
    Mutation("byte_of_a_batch", _flipped(300), "", (PLAIN, LOCAL)),
)
_TELLING = {
    *(("no_manifest", PLAIN), ("no_log", PLAIN), ("version", ENC), ("frame", ZSTD)),
    *(("size_of_segment", PLAIN), ("last_byte_of_tag", ENC), ("cut_log", ZSTD)),
    ("empty_file", LOCAL),
}


class Case(NamedTuple):
    """A mutation of one data set."""

    mutation: Mutation
    scenario: str


_CASES = [Case(each, scenario) for each in _MUTATIONS for scenario in each.scenarios]


@pytest.mark.parametrize(
    ("mutation", "scenario"),
    [
        pytest.param(
            *case,
            id=f"{case.mutation.name}-{case.scenario}",
            marks=[] if (case.mutation.name, case.scenario) in _TELLING else [pytest.mark.matrix],
        )
        for case in _CASES
    ],
)
def test_what_a_changed_object_costs_is_named_and_the_whole_tier_brings_it(
    mutation: Mutation, scenario: str, tmp_path: Path, engine: Engine, lake: Path
) -> None:
    disk = copied(scenario, tmp_path / "disk").folder
    (log,) = [path for path in disk.rglob(f"remote/**/{0:020d}-*.log") if _is_of_plain(path)]
    mutation.change(log)
    summary = ingested(disk, lake, isolation="read_committed", engine=engine, tiered=KEYS)
    assert summary.exit_code == 3
    everything, found = consumed(scenario, "read_committed"), in_lake(lake)
    lost = {row[0] for row in everything["plain-0"]} - {row[0] for row in found["plain-0"]}
    rest = [row for row in everything["plain-0"] if row[0] not in lost]
    assert lost
    assert found == {**everything, "plain-0": rest}
    gaps = [row for row in read_table(lake, "gaps") if row["cause"] in ("remote", "quarantined")]
    hidden = {at for row in gaps for at in range(row["start_offset"], row["next_offset"])}
    assert hidden == lost
    reasons = [row["detail"] for row in gaps] + [
        row["defect_detail"] for row in read_table(lake, "quarantine")
    ]
    assert any(mutation.reason in str(reason) for reason in reasons), reasons
    later = ingested(disk, lake, isolation="read_committed", engine=engine, tiered=KEYS)
    assert later.exit_code == 0
    text = later.to_text()
    assert "NOT recovered: " in text
    named = [line for line in text.splitlines() if line.startswith("not read: plain-0 [")]
    is_remote = any(row["cause"] == "remote" for row in gaps)
    assert any(mutation.reason in line for line in named) == is_remote
    assert replayed(lake, unpacked(scenario), tiered=KEYS).exit_code == 0
    assert in_lake(lake) == everything
    assert audited(lake).exit_code == 0


def _is_of_plain(path: Path) -> bool:
    """Return whether an object is of `plain-0`, which has its first segment in the tier only."""
    return path.parent.name.startswith("plain-0-") or (
        path.parent.name == "0" and path.parent.parent.name.startswith("plain-")
    )


def test_a_replay_names_what_the_tier_cannot_give(tmp_path: Path, lake: Path) -> None:
    disk = copied(PLAIN, tmp_path / "disk").folder
    (manifest,) = disk.rglob(f"plain-*/0/{0:020d}-*.rsm-manifest")
    kept = manifest.read_bytes()
    ingested(disk / "data", lake, isolation="read_committed")
    manifest.unlink()
    for sources in ((disk,), (disk / "remote",)):
        summary = replayed(lake, *sources)
        assert summary.exit_code == 3
        (why,) = summary.left_out.values()
        assert why.startswith("plain-0 [0, 100): ")
        assert "the upload did not end" in why
        assert "unfinished upload" not in summary.to_text()
    manifest.write_bytes(kept)
    assert replayed(lake, disk).exit_code == 0
    assert in_lake(lake) == consumed(PLAIN, "read_committed")


def test_the_oldest_object_of_a_tier_alone_is_not_taken_for_deleted(
    tmp_path: Path, lake: Path
) -> None:
    tier = copied(PLAIN, tmp_path / "disk").remote
    (manifest,) = tier.rglob(f"plain-*/0/{0:020d}-*.rsm-manifest")
    kept = manifest.read_bytes()
    manifest.unlink()
    cluster = {"source_id": "tiered"}
    summary = ingested(tier, lake, isolation="read_committed", source=cluster)
    assert "not read: plain-0 [0, 100): " in summary.to_text()
    assert "unfinished upload" not in summary.to_text()
    assert {row[2] for row in gaps_of(lake, "plain")} == {"remote"}
    manifest.write_bytes(kept)
    assert replayed(lake, tier).exit_code == 0
    assert in_lake(lake)["plain-0"][0][0] == 0


def test_every_run_names_a_quarantined_segment_that_the_tier_has_no_longer(
    tmp_path: Path, lake: Path
) -> None:
    disk = copied(PLAIN, tmp_path / "disk").folder
    (log,) = disk.rglob(f"plain-*/0/{0:020d}-*.log")
    _flipped(300)(log)
    ingested(disk, lake, isolation="read_committed")
    ((start, stop, cause, _),) = gaps_of(lake, "plain")
    assert cause == "quarantined"
    log.unlink()
    why = f"plain-0 [{start}, {stop}): the tier has no object of segment"
    later = ingested(disk, lake, isolation="read_committed")
    assert (later.exit_code, f"not read: {why}" in later.to_text()) == (0, True)
    whole = Selection(frozenset({1}), is_whole=True)
    of_plain = {"topics": ["plain"]}
    summaries = (
        replayed(lake, disk),
        retaken(lake, disk, selection=whole, select=of_plain, read=_COMMITTED),
    )
    for summary in summaries:
        (reason,) = summary.left_out.values()
        assert (summary.exit_code, reason.startswith(why)) == (3, True)
    done = retaken(lake, unpacked(PLAIN), selection=whole, select=of_plain, read=_COMMITTED)
    assert (done.exit_code, done.left_out) == (0, {})
    assert in_lake(lake)["plain-0"] == consumed(PLAIN, "read_committed")["plain-0"]
