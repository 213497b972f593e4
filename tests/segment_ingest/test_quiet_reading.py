"""A run with nothing new reads next to nothing of the logs, whatever waits or is missing there."""

from pathlib import Path

import pytest

from seglake.pipelines.segment_ingest.planning import damage_above
from support.counted_reads import counted
from support.encoder import EncodedBatch, Header, Partition, Producer, Record, Segment, record_batch
from support.made_logs import FIRST_MS, TOPIC_IDS, made_batches, write_over
from support.observed_logs import files_of, said_in

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
        (left.partition, left.is_damaged, left.from_offset)
        for left in first.findings.not_ingested_yet
        if "above the high watermark" not in left.reason
    ]
    assert found == [
        ("orders-0", True, 25),
        ("orders-0", False, 55),
        ("payments-0", True, 15),
    ]
    assert (
        "not searched for damage: it waits, and of what waits a run reads 64 MiB" in first.to_text()
    )
