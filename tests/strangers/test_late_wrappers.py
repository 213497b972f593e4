"""Compressed sets of format v0 and v1 that lie behind higher offsets in their log (KAFKA-3919)."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from seglake.task_engine.engine import Engine
from support.accounts import imbalances_of
from support.encoder import Codec, EncodedBatch, Partition, Record, Segment, message, wrapper
from support.lakes import by_partition, ingested, ingested_in_pieces, read_table
from support.made_logs import FIRST_MS, write_over

Span = tuple[int, int]

_ONE = [(0, 10), (20, 30), (10, 20), (30, 40)]
LATE = (
    _ONE,
    [(10, 20), (0, 10), (20, 40)],  # the first
    [(0, 5), (20, 40), (5, 10), (10, 15), (15, 20)],  # several in a hole
    [(0, 10), (20, 30), (10, 20), (35, 40), (30, 35)],  # two holes
    [(0, 10), (15, 40), (10, 15)],  # the last
)


def _value(offset: int) -> bytes:
    return b"value %d" % offset


def _records(start: int, stop: int) -> list[Record]:
    return [Record(b"k", _value(offset), FIRST_MS + offset) for offset in range(start, stop)]


def _wrappers(spans: Sequence[Span], magic: int) -> list[EncodedBatch]:
    return [wrapper(start, _records(start, stop), magic, Codec.GZIP) for start, stop in spans]


def _values(lake: Path) -> dict[int, bytes]:
    rows = read_table(lake, "records")
    values = {row["offset"]: row["value"] for row in rows}
    assert len(values) == len(rows)
    return values


def _disk(folder: Path, segments: Sequence[Segment], high_watermark: int = 40) -> Path:
    log = Partition("orders", 0, list(segments), high_watermark=high_watermark)
    return write_over(folder, [log])


def _assert_whole(lake: Path, partitions: int) -> None:
    """Each partition has each of its 40 offsets once."""
    records = by_partition(lake, "records")
    for partition in range(partitions):
        own = sorted((row["offset"], row["value"]) for row in records[partition])
        assert own == [(offset, _value(offset)) for offset in range(40)], partition
    assert imbalances_of(lake) == []


def test_a_late_set_is_ingested_with_what_stands_before_it(
    engine: Engine, tmp_path: Path, lake: Path
) -> None:
    logs = [
        Partition("orders", at, [Segment(0, _wrappers(spans, magic))], high_watermark=40)
        for at, (spans, magic) in enumerate(product(LATE, (0, 1)))
    ]
    summary = ingested(write_over(tmp_path / "data", logs), lake, engine=engine)
    assert (summary.exit_code, summary.counts.quarantined) == (0, 0)
    assert read_table(lake, "gaps") == []
    _assert_whole(lake, len(logs))


@pytest.mark.parametrize("split_bytes", [1, 300, 1 << 30])
@pytest.mark.parametrize("magic", [0, 1])
def test_the_size_of_tasks_and_commits_changes_nothing(
    magic: int, split_bytes: int, tmp_path: Path
) -> None:
    steps = [(start, start + 5) for start in range(0, 400, 5)]
    for place in (10, 40, 77):
        steps[place], steps[place + 1] = steps[place + 1], steps[place]
    segments = [
        Segment(0, _wrappers(steps[:40], magic)),
        Segment(200, _wrappers(steps[40:], magic)),
    ]
    disk = _disk(tmp_path / "data", segments, 400)
    ingested_in_pieces(
        disk, tmp_path / "lake", "read_uncommitted", split_bytes=split_bytes, wave_bytes=split_bytes
    )
    assert _values(tmp_path / "lake") == {offset: _value(offset) for offset in range(400)}
    assert read_table(tmp_path / "lake", "quarantine") == []
    assert imbalances_of(tmp_path / "lake") == []


def test_where_an_earlier_run_ended_changes_nothing(tmp_path: Path, lake: Path) -> None:
    logs = [
        Partition("orders", at, [Segment(0, _wrappers(_ONE, magic))], high_watermark=reached)
        for at, (magic, reached) in enumerate(product((0, 1), (5, 10, 15, 20, 25, 30)))
    ]
    ingested(write_over(tmp_path / "data", logs), lake)
    later = [replace(log, high_watermark=40) for log in logs]
    ingested(write_over(tmp_path / "data", later), lake)
    assert read_table(lake, "quarantine") == []
    _assert_whole(lake, len(logs))


@pytest.mark.parametrize("magic", [0, 1])
def test_a_set_among_messages_that_are_not_compressed_may_come_late(
    magic: int, engine: Engine, tmp_path: Path
) -> None:
    plain = {
        offset: message(offset, record, magic) for offset, record in enumerate(_records(0, 40))
    }
    sets = dict(zip([10, 30], _wrappers([(10, 20), (30, 40)], magic), strict=True))
    log = [plain[offset] for offset in [*range(10), *range(20, 30)]] + [sets[10], sets[30]]
    disk = _disk(tmp_path / "data", [Segment(0, log)])
    summary = ingested(disk, tmp_path / "lake", engine=engine)
    assert (summary.exit_code, summary.counts.quarantined) == (0, 0)
    assert _values(tmp_path / "lake") == {offset: _value(offset) for offset in range(40)}
    assert imbalances_of(tmp_path / "lake") == []


@pytest.mark.parametrize("magic", [0, 1])
def test_a_set_whose_offsets_were_read_before_is_quarantined(magic: int, tmp_path: Path) -> None:
    spans = [(0, 10), (20, 30), (10, 20), (30, 40), (10, 20)]
    disk = _disk(tmp_path / "data", [Segment(0, _wrappers(spans, magic))])
    summary = ingested(disk, tmp_path / "lake")
    assert summary.defects == {"offset_out_of_order": 1}
    assert _values(tmp_path / "lake") == {offset: _value(offset) for offset in range(40)}
    assert imbalances_of(tmp_path / "lake") == []
