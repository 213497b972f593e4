"""A run with nothing new reads next to nothing of the logs, whatever waits or is missing there."""

from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.planning import damage_above
from seglake.ingest_steps.repair import left_in_copies
from support.counted_reads import counted
from support.encoder import (
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    record_batch,
    write_checkpoint,
)
from support.found import NOT_INGESTED_YET
from support.lakes import ingested
from support.made_logs import FIRST_MS, TOPIC_IDS, made_batches, write_over
from support.observed_logs import files_of, said_in

_LOG_END = {"upper_bound": "log_end"}
_VALUE = bytes(range(256)) * 80


def _batches(stop: int, *, open_at: int | None = None) -> list[EncodedBatch]:
    """Batches of five records of 20 kB; the one at an offset is of a transaction without an end."""
    batches = []
    for base in range(0, stop, 5):
        header = Header()
        if base == open_at:
            header = Header(producer=Producer(7, 0), is_transactional=True)
        records = [Record(b"k", _VALUE, FIRST_MS + base) for _ in range(5)]
        batches.append(record_batch(base, records, header))
    return batches


def _disk(
    folder: Path, batches: list[EncodedBatch], *, high_watermark: int | None = None, topic: str = ""
) -> Path:
    name = topic or "orders"
    partition = Partition(
        name, 0, [Segment(0, batches)], high_watermark=high_watermark, topic_id=TOPIC_IDS[name]
    )
    return write_over(folder, [partition])


def _damage(disk: Path, batch: EncodedBatch) -> None:
    (log,) = disk.rglob("*.log")
    content = bytearray(log.read_bytes())
    content[content.index(batch.data) + len(batch.data) - 3] ^= 1
    log.write_bytes(content)


def test_what_lies_behind_an_open_transaction_is_searched_for_damage_once(
    data: Path, lake: Path
) -> None:
    _disk(data, _batches(200, open_at=5))
    _, first = counted(data, lake, isolation="read_committed")
    assert first.segment_bytes > 4_000_000
    before = files_of(lake)
    _, again = counted(data, lake, isolation="read_committed")
    # For the headers, which say what transactions are open; and for the batch ingested last.
    assert len(again.opened) <= 2
    assert again.segment_bytes < 600_000
    assert files_of(lake) == before


def test_damage_above_the_high_watermark_is_said_again_and_not_read_again(
    data: Path, lake: Path
) -> None:
    batches = _batches(200)
    _disk(data, batches, high_watermark=20)
    _damage(data, batches[20])
    first, _ = counted(data, lake)
    again, reads = counted(data, lake)
    assert (reads.opened, reads.segment_bytes) == ([], 0)
    assert (again.exit_code, said_in(again)) == (3, said_in(first))
    assert "crc_mismatch" in str(said_in(again))


def test_a_log_that_moves_is_searched_again_and_one_whose_bound_rises_above_the_damage_too(
    data: Path, lake: Path
) -> None:
    batches = _batches(100, open_at=5)
    _disk(data, batches)
    for _ in range(2):
        assert counted(data, lake, isolation="read_committed")[0].exit_code == 0
    _damage(data, batches[10])
    (log,) = data.rglob("*.log")
    log.write_bytes(log.read_bytes() + made_batches("orders", 0, range(100, 105))[0].data)
    for _ in range(2):
        summary, _ = counted(data, lake, isolation="read_committed")
        assert (summary.exit_code, "crc_mismatch" in str(said_in(summary))) == (3, True)
    summary, _ = counted(data, lake, isolation="read_committed", upper_bound="log_end")
    assert (summary.damaged, "crc_mismatch" in str(said_in(summary))) == ({"orders-0": 1}, False)


def test_more_than_a_run_may_search_is_named(
    data: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(damage_above, "_MOST_SEARCHED_BYTES", 1_500_000)
    batches = _batches(100)
    _disk(data, batches, high_watermark=10)
    for batch in (batches[5], batches[18]):
        _damage(data, batch)
    small = _disk(data.parent / "small", batches[:6], high_watermark=10, topic="payments")
    _damage(small, batches[3])
    first, _ = counted([data, small], lake)
    again, reads = counted([data, small], lake)
    assert (reads.segment_bytes, said_in(again)) == (0, said_in(first))
    # 411 kB of the small log, and of the other one the whole batches in the rest, eleven.
    found = [
        (left.place, left.kind is FindingKind.DAMAGED_ABOVE, left.ranges[0][0])
        for left in first.findings.of(*NOT_INGESTED_YET)
        if "above the high watermark" not in left.text
    ]
    assert found == [
        ("orders-0", True, 25),
        ("payments-0", True, 15),
        ("orders-0", False, 55),
    ]
    assert (
        "not searched for damage: the offsets are not ingested yet, and a run searches at most "
        "64 MiB of such data" in first.to_text()
    )


def _undecided_disk(data: Path, *more: EncodedBatch) -> list[EncodedBatch]:
    """A log that ends in an open transaction, and whatever follows."""
    batches = _batches(50, open_at=45)
    _disk(data, [*batches, *more])
    return batches


def test_copies_are_asked_about_undecided_transactions_once(data: Path, lake: Path) -> None:
    _undecided_disk(data)
    first, _ = counted(data, lake, isolation="read_committed", **_LOG_END)
    (undecided,) = first.findings.of(FindingKind.UNDECIDED)
    assert (first.exit_code, undecided.facts["offsets"]) == (3, 5)
    before = files_of(lake)
    _, reads = counted(data, lake, isolation="read_committed", **_LOG_END)
    assert len(reads.opened) == 1  # for the end of the log
    assert files_of(lake) == before


@pytest.mark.parametrize("is_marked", [True, False], ids=["marker", "rows"])
def test_undecided_transactions_are_asked_for_when_they_may_come(
    data: Path, lake: Path, *, is_marked: bool
) -> None:
    _undecided_disk(data)
    for _ in range(2):
        counted(data, lake, isolation="read_committed", **_LOG_END)
    read = _LOG_END if is_marked else {**_LOG_END, "undecided_transactions": "rows"}
    if is_marked:
        marker = end_marker(50, ControlType.COMMIT, producer_id=7, timestamp_ms=FIRST_MS)
        _undecided_disk(data, marker)
    summary, _ = counted(data, lake, isolation="read_committed", **read)
    assert (summary.counts.repaired_gaps, summary.counts.repaired_records) == (1, 5)


def _cleaned(folder: Path, broker_id: int, *, is_whole: bool = False) -> Path:
    """A log of which the cleaner took offsets 5 to 9, without a checkpoint of the cleaner."""
    batches = made_batches("orders", 0, range(20))
    kept = batches if is_whole else [batches[0], *batches[2:]]
    partition = Partition("orders", 0, [Segment(0, kept)], topic_id=TOPIC_IDS["orders"])
    return write_over(folder, [partition], broker_id=broker_id)


def _as_compacted(disk: Path) -> None:
    write_checkpoint(disk / "cleaner-offset-checkpoint", {("orders", 0): 20})


@pytest.mark.parametrize("count", [1, 2])
def test_copies_that_were_just_read_have_nothing_more_where_no_checkpoint_is_of_the_cleaner(
    count: int, data: Path, lake: Path
) -> None:
    copies = [_cleaned(data.parent / str(broker), broker) for broker in range(count)]
    for copy in copies:
        _as_compacted(copy)
    ingested(copies, lake)
    for copy in copies:
        (copy / "cleaner-offset-checkpoint").unlink()
    for _ in range(2):
        summary, reads = counted(copies, lake)
        assert (reads.opened, summary.notes, summary.left_in_copies) == ([], [], {})


def test_an_older_copy_without_a_checkpoint_of_the_cleaner_is_counted(
    data: Path, lake: Path
) -> None:
    after = _cleaned(data, 0)
    _as_compacted(after)
    ingested(after, lake)
    before = _cleaned(data.parent / "before", 0, is_whole=True)
    assert counted(before, lake)[0].left_in_copies == {"orders-0": 5}
    assert counted(after, lake)[0].left_in_copies == {}


def test_a_lake_that_is_large_is_not_read_for_a_count(
    data: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left_in_copies, "_MOST_LAKE_OFFSETS", 19)
    after = _cleaned(data, 0)
    _as_compacted(after)
    ingested(after, lake)
    summary, _ = counted(_cleaned(data.parent / "before", 0, is_whole=True), lake)
    assert summary.left_in_copies == {}
    assert "up to 5 offsets that are compacted in the lake may be in" in summary.notes[-1]


@pytest.mark.parametrize("is_whole", [True, False], ids=["nothing lacks", "a hole is left"])
def test_a_rescue_without_news_reads_the_headers_of_copies_only_while_a_hole_is_left(
    data: Path, lake: Path, *, is_whole: bool
) -> None:
    copies = [_cleaned(data, 0), _cleaned(data.parent / "before", 1, is_whole=is_whole)]
    _as_compacted(copies[0])
    for _ in range(2):
        counted(copies, lake, upper_bound="log_end", older_copies=True)
    summary, reads = counted(copies, lake, upper_bound="log_end", older_copies=True)
    assert summary.counts.records == summary.counts.refilled_records == 0
    # Two for what follows the lake's end; with a hole eight more, which lead to the headers.
    assert len(reads.opened) <= (2 if is_whole else 10)
    assert reads.segment_bytes < 6_000  # of two logs of 1.3 kB
