"""Ends of logs: what a writer may have left unfinished, and what is something else."""

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random

import pytest

from seglake.findings.kinds import FindingKind
from seglake.task_engine.engine import Engine
from support.accounts import imbalances_of
from support.audits import audited
from support.encoder import (
    Codec,
    EncodedBatch,
    Partition,
    Record,
    Segment,
    message,
    record_batch,
    wrapper,
    write_checkpoint,
    write_log_dir,
)
from support.found import NOT_INGESTED_YET
from support.lakes import Row, by_partition, ingested, read_table, replayed
from support.made_logs import made_batches, write_over
from support.taken import gaps_taken, offsets_taken

_RANDOM = Random(7)
_SOUND = made_batches("orders", 0, range(10))
_NEXT = made_batches("orders", 0, range(10, 15))[0].data
_THIRD = made_batches("orders", 0, range(15, 20))[0].data
_LOG_END = {"upper_bound": "log_end"}


def _headed(length: int, magic: int) -> bytes:
    """Random bytes behind a prefix that continues the offsets."""
    return struct.pack(">qiIb", 10, length, 0, magic) + b"\xee" + _RANDOM.randbytes(300)


def _flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


# By the name of the log that ends so: one disk has them all, as partitions of one topic.
_GARBAGE = {
    "random-bytes": _RANDOM.randbytes(5000),
    "one-byte": b"\x01",
    "a-text": b"# a text that is named like a segment\n" * 40,
    "zeros-then-a-text": bytes(4096) + b"a text",
    "a-batch-of-an-offset-that-came-before": made_batches("orders", 0, range(5, 10))[0].data[:-1],
    "magic-2-huge": _headed(1 << 30, 2),
    "magic-1-huge": _headed(1 << 30, 1),
    "magic-0-huge": _headed(1 << 30, 0),
    "longer-than-a-segment": _NEXT[:8] + b"\x7f\xff\xff\xff" + _NEXT[12:40],
    "more-records-than-offsets": _NEXT[:57] + b"\x00\x00\x00\x09" + _NEXT[61:-1],
    "unflushed-then-random-bytes": _flipped(_NEXT) + _RANDOM.randbytes(500),
}
_UNFINISHED = {
    "an-offset": _NEXT[:8],
    "a-header": _NEXT[:61],
    "torn": _NEXT[:-1],
    "unflushed": _flipped(_NEXT),
    "unflushed-then-torn": _flipped(_NEXT) + _THIRD[:-9],
    "unflushed-then-zeros": _flipped(_NEXT) + bytes(4096),
    "an-old-message-torn": message(10, Record(b"k", b"value"), 1).data[:-1],
}


def _disk(
    folder: Path, *segments: tuple[int, list[EncodedBatch], bytes], watermark: int | None = 10
) -> Path:
    """A log dir of orders-0; without a watermark, no checkpoint names one."""
    written = [Segment(base, batches, tail) for base, batches, tail in segments]
    end = watermark or 0
    write_over(folder, [Partition("orders", 0, written, high_watermark=end, recovery_point=end)])
    if watermark is None:
        (folder / "replication-offset-checkpoint").unlink()
    return folder


_NAMES = ["orders"]  # names of logs, by their partition


def _number(name: str) -> int:
    if name not in _NAMES:
        _NAMES.append(name)
    return _NAMES.index(name)


def _places(names: Iterable[str]) -> set[str]:
    return {f"orders-{_number(name)}" for name in names}


def _log(name: str, segments: list[Segment], end: int | None = None) -> Partition:
    return Partition("orders", _number(name), segments, high_watermark=end, recovery_point=end)


def _disk_of(folder: Path, ends: Mapping[str, bytes], watermark: int | None = 10) -> Path:
    """A log dir with a log for each end; without a watermark, no checkpoint names one."""
    partitions = [
        _log(name, [Segment(0, _SOUND, tail)], watermark or 0) for name, tail in ends.items()
    ]
    write_over(folder, partitions)
    if watermark is None:
        (folder / "replication-offset-checkpoint").unlink()
    return folder


def _by_log(lake: Path, table: str) -> Iterable[tuple[str, list[Row]]]:
    return [(_NAMES[number], rows) for number, rows in by_partition(lake, table).items()]


def _offsets(lake: Path) -> dict[str, list[int]]:
    """Offsets of each log, sorted, doubles kept."""
    rows = _by_log(lake, "records")
    return {name: sorted(row["offset"] for row in own) for name, own in rows}


def _gaps(lake: Path) -> dict[str, list[tuple[int, int, str]]]:
    return {
        name: sorted((row["start_offset"], row["next_offset"], row["cause"]) for row in own)
        for name, own in _by_log(lake, "gaps")
    }


def _quarantined(lake: Path) -> dict[str, bytes]:
    """What is quarantined of each log and was not resolved."""
    found: dict[str, bytes] = {}
    for name, rows in _by_log(lake, "quarantine"):
        standing = [(row["position"], row["raw"]) for row in rows if row["resolution"] is None]
        if standing:
            found[name] = b"".join(raw for _, raw in sorted(standing))
    return found


@pytest.mark.parametrize("watermark", [10, None])
def test_what_no_writer_left_is_damage(tmp_path: Path, lake: Path, watermark: int | None) -> None:
    disk = _disk_of(tmp_path / "disk", _GARBAGE, watermark=watermark)
    summary = ingested(disk, lake)
    assert (summary.exit_code, {*summary.damaged}) == (3, _places(_GARBAGE))
    assert _offsets(lake) == {topic: [*range(10)] for topic in _GARBAGE}
    assert _quarantined(lake) == _GARBAGE
    assert (imbalances_of(lake), audited(lake).exit_code) == ([], 0)
    assert summary.findings.of(*NOT_INGESTED_YET) == []
    again = ingested(disk, lake)
    assert (again.exit_code, _quarantined(lake)) == (0, _GARBAGE)
    assert ingested(disk, lake, read=_LOG_END).exit_code == 0
    assert _quarantined(lake) == _GARBAGE


def test_a_segment_that_is_something_else_is_damage_wherever_it_stands(
    tmp_path: Path, lake: Path, engine: Engine
) -> None:
    garbage = _RANDOM.randbytes(1 << 17)
    logs = {
        "last": [Segment(0, _SOUND), Segment(10, [], garbage)],
        "only": [Segment(0, [], garbage)],
    }
    partitions = [
        Partition(topic, 0, segments, high_watermark=0) for topic, segments in logs.items()
    ]
    write_log_dir(tmp_path / "disk", partitions)
    (tmp_path / "disk" / "replication-offset-checkpoint").unlink()
    planned = ingested(tmp_path / "disk", lake, engine=engine, dry_run=True)
    would = "would be quarantined: {}: damage at the end of the log, without known offsets"
    assert all(would.format(name) in planned.to_text() for name in ("last-0", "only-0"))
    assert "would be ingested: last-0 [0, 10)" in planned.to_text()
    assert (planned.exit_code, planned.damaged) == (3, {})
    summary = ingested(tmp_path / "disk", lake, engine=engine)
    assert (summary.exit_code, summary.damaged) == (3, {"last-0": 1, "only-0": 1})
    assert {row["raw"] for row in read_table(lake, "quarantine")} == {garbage}
    assert offsets_taken(lake, "last") == [*range(10)]
    assert imbalances_of(lake) == []
    assert audited(lake).problems == ("no record was ingested of only-0: all of it is damaged",)
    assert ingested(tmp_path / "disk", lake, engine=engine).exit_code == 0
    assert len(read_table(lake, "quarantine")) == 2


def test_damage_above_what_is_replicated_is_recorded_at_once(tmp_path: Path, lake: Path) -> None:
    disk = _disk(tmp_path / "disk", (0, _SOUND, b""), watermark=5)
    ingested(disk, lake)
    _disk(disk, (0, _SOUND, b"a text"), watermark=5)
    assert (ingested(disk, lake).exit_code, _quarantined(lake)) == (3, {"orders": b"a text"})
    assert ingested(disk, lake).exit_code == 0
    _disk(disk, (0, made_batches("orders", 0, range(20)), b""), watermark=20)  # cut, and written on
    assert ingested(disk, lake).exit_code == 0
    assert offsets_taken(lake) == [*range(20)]
    assert (imbalances_of(lake), audited(lake).exit_code) == ([], 0)


@pytest.mark.parametrize("read", [_LOG_END, {}], ids=["log_end", "high_watermark"])
def test_damage_in_front_of_an_empty_last_segment_hides_the_offsets_up_to_it(
    tmp_path: Path, lake: Path, read: dict[str, str]
) -> None:
    """A restarted broker may begin a segment before a record comes."""
    damages, logs = dict[str, bytes](), []
    for name, damage in (("flipped", _flipped(_NEXT)), ("torn", _NEXT[:-1])):
        closed = {
            "behind-others": [Segment(0, _SOUND, damage)],
            "in-a-segment-of-its-own": [Segment(0, _SOUND), Segment(10, [], damage)],
        }
        for place, segments in closed.items():
            for topic in (f"{name}-{place}", f"{name}-{place}-cleaned"):
                damages[topic] = damage
                whole = [*segments, Segment(15, [])]
                logs.append(Partition("orders", _number(topic), whole, high_watermark=15))
    write_log_dir(tmp_path / "disk", logs)
    cleaned = {("orders", _number(of)): 15 for of in damages if of.endswith("-cleaned")}
    write_checkpoint(tmp_path / "disk" / "cleaner-offset-checkpoint", cleaned)
    summary = ingested(tmp_path / "disk", lake, read=read)
    assert (summary.exit_code, {*summary.damaged}) == (3, _places(damages))
    assert _offsets(lake) == {topic: [*range(10)] for topic in damages}
    assert _quarantined(lake) == damages
    assert _gaps(lake) == {topic: [(10, 15, "quarantined")] for topic in damages}
    assert (imbalances_of(lake), audited(lake).exit_code) == ([], 0)
    assert ingested(tmp_path / "disk", lake, read=read).exit_code == 0


def test_what_a_writer_may_have_left_waits_for_it(tmp_path: Path, lake: Path) -> None:
    summary = ingested(_disk_of(tmp_path / "disk", _UNFINISHED), lake)
    assert (summary.exit_code, read_table(lake, "quarantine")) == (0, [])
    waiting = [finding.place for finding in summary.findings.of(*NOT_INGESTED_YET)]
    assert sorted(waiting) == sorted(_places(_UNFINISHED))
    assert audited(lake).exit_code == 0


@pytest.mark.parametrize("read", [_LOG_END, {}], ids=["log_end", "high_watermark"])
def test_zeros_of_a_file_made_in_advance_are_nothing_to_wait_for(
    tmp_path: Path, lake: Path, read: dict[str, str]
) -> None:
    summary = ingested(_disk(tmp_path / "disk", (0, _SOUND, bytes(9000))), lake, read=read)
    assert (summary.exit_code, read_table(lake, "quarantine")) == (0, [])
    assert summary.findings.of(*NOT_INGESTED_YET) == []


def test_of_a_dead_disk_nothing_waits_and_the_end_is_kept(tmp_path: Path, lake: Path) -> None:
    disk = _disk_of(tmp_path / "disk", _UNFINISHED)
    summary = ingested(disk, lake, read=_LOG_END)
    assert (summary.exit_code, {*summary.damaged}) == (3, _places(_UNFINISHED))
    assert _offsets(lake) == {topic: [*range(10)] for topic in _UNFINISHED}
    kept = {topic: end.removesuffix(bytes(4096)) for topic, end in _UNFINISHED.items()}
    assert _quarantined(lake) == kept
    assert summary.findings.of(*NOT_INGESTED_YET) == []
    rows = read_table(lake, "quarantine")
    again = ingested(disk, lake, read=_LOG_END)
    assert (again.exit_code, again.findings.of(*NOT_INGESTED_YET)) == (0, [])
    assert read_table(lake, "quarantine") == rows
    assert (imbalances_of(lake), audited(lake).exit_code) == ([], 0)


def _claiming(base: int, delta: int, count: int, codec: Codec = Codec.NONE) -> bytes:
    """The end of a log in a batch of 30 offsets whose header says otherwise; it is cut."""
    records = [Record(None, b"v")] * 30
    whole = record_batch(10, records, codec=codec).data
    return (
        struct.pack(">q", base)
        + whole[8:23]
        + struct.pack(">i", delta)
        + whole[27:57]
        + (struct.pack(">i", count) + whole[61:-1])
    )


_CLAIMS: dict[str, tuple[bytes, list[tuple[int, int, str]]]] = {
    "whole": (_claiming(10, 29, 30), [(10, 40, "quarantined")]),
    "whole-zstd": (_claiming(10, 29, 30, Codec.ZSTD), [(10, 40, "quarantined")]),
    "a-header": (_claiming(10, 29, 30)[:50], [(10, 11, "quarantined")]),
    "an-offset-and-a-length": (_claiming(10, 29, 30)[:14], [(10, 11, "quarantined")]),
    "flipped-then-torn": (_flipped(_NEXT) + _THIRD[:-9], [(10, 20, "quarantined")]),
    "base-far-above": (_claiming(1 << 30, 29, 30), []),
    "base-one-above": (_claiming(11, 29, 30), []),
    "delta-too-high": (_claiming(10, 59, 30), []),
    "delta-highest": (_claiming(10, (1 << 31) - 12, 30), []),
    "a-billion-records": (_claiming(10, (1 << 30) - 1, 1 << 30, Codec.ZSTD), []),
    "header-far-above": (struct.pack(">q", 1 << 30) + _NEXT[8:40], []),
    "flipped-then-far-above": (
        _flipped(_NEXT) + struct.pack(">q", 1 << 30) + _THIRD[8:-9],
        [(10, 15, "quarantined")],
    ),
    "message": (message(10, Record(b"k", b"v"), 1).data[:-1], [(10, 11, "quarantined")]),
    "message-far-above": (message(1 << 30, Record(b"k", b"v"), 1).data[:-1], []),
    "wrapper": (
        wrapper(10, [Record(b"k", b"v")] * 5, 1, Codec.GZIP).data[:-1],
        [(10, 15, "quarantined")],
    ),
}


def test_an_unfinished_batch_hides_the_offsets_with_which_it_continues_the_log(
    tmp_path: Path, lake: Path
) -> None:
    ends = {topic: end for topic, (end, _) in _CLAIMS.items()}
    disk = _disk_of(tmp_path / "disk", ends)
    summary = ingested(disk, lake, read=_LOG_END)
    assert (summary.exit_code, {*summary.damaged}) == (3, _places(ends))
    assert _gaps(lake) == {topic: lost for topic, (_, lost) in _CLAIMS.items() if lost}
    assert (_quarantined(lake), _offsets(lake)) == (ends, {topic: [*range(10)] for topic in ends})
    assert (imbalances_of(lake), audited(lake).exit_code) == ([], 0)
    whole = [Segment(0, made_batches("orders", 0, range(60)))]
    logs = [_log(name, whole) for name in ends]
    write_log_dir(tmp_path / "other", logs, broker_id=1)
    ingested([disk, tmp_path / "other"], lake, read=_LOG_END)
    assert _offsets(lake) == {topic: [*range(60)] for topic in ends}


def test_another_replica_fills_the_end_of_a_dead_disk(
    tmp_path: Path, lake: Path, engine: Engine
) -> None:
    dead = _disk(tmp_path / "dead", (0, _SOUND, _NEXT[:-1]))
    ingested(dead, lake, read=_LOG_END, engine=engine)
    assert gaps_taken(lake) == [(10, 15, "quarantined")]
    batches = made_batches("orders", 0, range(20))
    write_log_dir(tmp_path / "other", [Partition("orders", 0, [Segment(0, batches)])], broker_id=1)
    assert replayed(lake, tmp_path / "other").repaired_gaps == 1
    assert offsets_taken(lake) == [*range(15)]
    ingested([dead, tmp_path / "other"], lake, read=_LOG_END, engine=engine)
    assert offsets_taken(lake) == [*range(20)]
    assert {row["resolution"] for row in read_table(lake, "quarantine")} == {None, "sibling"}
    assert (imbalances_of(lake), audited(lake).exit_code) == ([], 0)


def test_an_end_that_is_completed_after_all_is_ingested_once(tmp_path: Path, lake: Path) -> None:
    ends = {topic: _UNFINISHED[topic] for topic in ("an-offset", "a-header", "torn", "unflushed")}
    disk = _disk_of(tmp_path / "disk", ends)
    ingested(disk, lake, read=_LOG_END)
    whole = [Segment(0, made_batches("orders", 0, range(20)))]
    write_over(disk, [_log(name, whole, 20) for name in ends])
    ingested(disk, lake, read=_LOG_END)
    assert _offsets(lake) == {topic: [*range(20)] for topic in ends}
    assert (imbalances_of(lake), audited(lake).exit_code) == ([], 0)


def test_offsets_that_a_checkpoint_proves_in_the_end_are_one_gap(
    tmp_path: Path, lake: Path
) -> None:
    ends = {"torn": _NEXT[:-1], "unflushed": _flipped(_NEXT), "zeros": bytes(500)}
    disk = _disk_of(tmp_path / "disk", ends, watermark=30)
    summary = ingested(disk, lake, read=_LOG_END)
    assert _gaps(lake) == {topic: [(10, 30, "quarantined")] for topic in ends}
    assert (summary.exit_code, summary.findings.of(FindingKind.NOT_ON_DISK)) == (3, [])
    assert audited(lake).exit_code == 0
