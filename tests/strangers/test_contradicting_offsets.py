"""Batches whose last offset delta contradicts their records, beside others: each offset once.

What Kafka's consumer gives of each alone is in `test_contradicting_headers.py`.
"""

from itertools import product
from pathlib import Path

import crc32c
import pytest

from seglake.findings.kinds import FindingKind
from seglake.task_engine.engine import Engine
from support.audits import audited, checked, kinds
from support.contradictions import (
    Contradiction,
    log_of,
    shown,
)
from support.encoder import (
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    payload_batch,
    record_batch,
    record_bytes,
)
from support.lakes import by_partition, ingested, read_table
from support.made_logs import write_over


def last_delta_zero(
    base: int, values: str, *, producer_id: int = -1, key: bytes | None = None
) -> EncodedBatch:
    """A batch of several records that claims to end with its first, as some clients wrote it."""
    payload = b"".join(
        record_bytes(Record(key, value.encode()), delta, 0) for delta, value in enumerate(values)
    )
    header = Header(
        last_offset_delta=0,
        record_count=len(values),
        producer=Producer(producer_id, 0, 0),
        is_transactional=producer_id >= 0,
    )
    return payload_batch(base, payload, header)


def written(folder: Path, batches: list[EncodedBatch], high_watermark: int) -> Path:
    return each_written(folder, [batches], high_watermark)


def each_written(folder: Path, logs: list[list[EncodedBatch]], high_watermark: int) -> Path:
    """A log dir with a partition of one topic for each log."""
    segments = [[Segment(0, batches, has_indexes=False)] for batches in logs]
    partitions = [
        Partition("t", number, own, high_watermark=high_watermark)
        for number, own in enumerate(segments)
    ]
    return write_over(folder, partitions)


SIZES = ((1, "ab"), (4, "cde"), (5, "f"), (6, "g"), (8, "hi"), (9, "j"))


LEAST_BYTES = 64 << 10


def test_batches_with_a_last_delta_of_zero_give_each_offset_once(
    tmp_path: Path, engine: Engine
) -> None:
    disk = written(tmp_path / "disk", [last_delta_zero(*size) for size in SIZES], 10)
    lake = tmp_path / "lake"
    ingested(disk, lake, engine=engine)
    assert shown(read_table(lake, "records")) == "1a 2b 4c 5d 6e 8h 9i"
    assert sorted(row["base_offset"] for row in read_table(lake, "quarantine")) == [5, 6, 9]
    assert [row["cause"] for row in read_table(lake, "gaps")] == ["missing"] * 3
    assert kinds(audited(lake)) == {"missing"}


def test_tasks_part_no_batch_from_those_whose_offsets_it_takes(
    tmp_path: Path, engine: Engine
) -> None:
    batches = [last_delta_zero(*size, key=bytes(LEAST_BYTES)) for size in SIZES]
    disk, lake = written(tmp_path / "disk", batches, 10), tmp_path / "lake"
    read = {"split_bytes": LEAST_BYTES, "window_bytes": LEAST_BYTES}
    ingested(disk, lake, engine=engine, read=read)
    assert shown(read_table(lake, "records")) == "1a 2b 4c 5d 6e 8h 9i"
    assert kinds(audited(lake)) == {"missing"}


def test_records_above_the_log_end_are_given_once(tmp_path: Path, engine: Engine) -> None:
    begun = [last_delta_zero(0, "abc")]
    disk, lake = written(tmp_path / "disk", begun, 1), tmp_path / "lake"
    ingested(disk, lake, engine=engine)
    assert shown(read_table(lake, "records")) == "0a 1b 2c"
    grown = [
        *begun,
        last_delta_zero(1, "de"),
        record_batch(2, [Record(None, b"x"), Record(None, b"y")]),
    ]
    written(disk, grown, 4)
    ingested(disk, lake, engine=engine)
    assert shown(read_table(lake, "records")) == "0a 1b 2c 3y"
    assert not kinds(audited(lake))


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_transactions_give_what_their_markers_say(
    tmp_path: Path, engine: Engine, isolation: str
) -> None:
    batches = [
        last_delta_zero(0, "ab", producer_id=7),
        last_delta_zero(2, "cd", producer_id=8),
        end_marker(4, ControlType.COMMIT, producer_id=7),
        end_marker(5, ControlType.ABORT, producer_id=8),
        record_batch(6, [Record(None, b"e")]),
    ]
    disk, lake = written(tmp_path / "disk", batches, 7), tmp_path / "lake"
    ingested(disk, lake, engine=engine, isolation=isolation)
    aborted = "2c 3d " if isolation == "read_uncommitted" else ""
    assert shown(read_table(lake, "records")) == f"0a 1b {aborted}6e"
    assert kinds(audited(lake)) <= {"missing"}


def test_records_below_their_batch_fill_a_hole_but_no_offset_of_another_batch(
    tmp_path: Path, engine: Engine
) -> None:
    def below(base: int, values: str) -> EncodedBatch:
        """A batch whose base offset is that of its last record."""
        payload = b"".join(
            record_bytes(Record(None, value.encode()), delta, 0)
            for delta, value in enumerate(values, start=1 - len(values))
        )
        return payload_batch(base, payload, Header(last_offset_delta=0, record_count=len(values)))

    markers = [end_marker(5, ControlType.COMMIT, producer_id=7), *plain_batches(6, "ijkl")]
    disk = written(
        tmp_path / "disk", [below(2, "abc"), below(4, "def"), *markers, below(10, "mn")], 11
    )
    lake = tmp_path / "lake"
    ingested(disk, lake, engine=engine)
    assert shown(read_table(lake, "records")) == "0a 1b 2c 3e 4f 6i 7j 8k 9l 10n"
    assert not kinds(audited(lake))


def plain_batches(base: int, values: str) -> list[EncodedBatch]:
    return [
        record_batch(offset, [Record(None, value.encode())])
        for offset, value in enumerate(values, start=base)
    ]


def test_batch_that_claims_offsets_of_the_next_one_has_those_of_its_records(
    tmp_path: Path, lake: Path, engine: Engine
) -> None:
    claims = [*product((3, 5, 900, 2**31 - 1), (0, 1))]
    logs = [log_of(Contradiction(last_offset_delta=delta), place) for delta, place in claims]
    disk = each_written(tmp_path / "disk", logs, 9)
    ingested(disk, lake, engine=engine)
    records = by_partition(lake, "records")
    for number, claim in enumerate(claims):
        assert shown(records[number]) == "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2", claim
    assert not read_table(lake, "quarantine")
    assert not kinds(audited(lake))
    assert not [check for check in checked(disk, lake) if check.has_problem]


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_marker_that_claims_more_offsets_than_it_has_ends_its_transaction(
    isolation: str, tmp_path: Path, lake: Path
) -> None:
    marker, last_deltas = end_marker(1, ControlType.ABORT, producer_id=7), (1, 5, -1)
    logs = [
        [
            last_delta_zero(0, "a", producer_id=7),
            with_last_delta(marker, last_delta),
            *plain_batches(2, "bcdefgh"),
        ]
        for last_delta in last_deltas
    ]
    ingested(each_written(tmp_path / "disk", logs, 9), lake, isolation=isolation)
    aborted = "0a " if isolation == "read_uncommitted" else ""
    records, batches = by_partition(lake, "records"), by_partition(lake, "batches")
    for number, last_delta in enumerate(last_deltas):
        assert shown(records[number]) == f"{aborted}2b 3c 4d 5e 6f 7g 8h", last_delta
        (control,) = (row for row in batches[number] if row["control_type"] is not None)
        assert (control["base_offset"], control["control_type"]) == (1, "abort"), last_delta
    assert not kinds(audited(lake))


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_an_aborted_batch_that_claims_offsets_of_the_next_hides_none_of_them(
    isolation: str, tmp_path: Path
) -> None:
    aborted = with_last_delta(last_delta_zero(0, "ab", producer_id=7), 4)
    batches = [
        aborted,
        *plain_batches(2, "cde"),
        end_marker(5, ControlType.ABORT, producer_id=7),
        *plain_batches(6, "f"),
    ]
    disk, lake = written(tmp_path / "disk", batches, 7), tmp_path / "lake"
    ingested(disk, lake, isolation=isolation)
    rows = "0a 1b " if isolation == "read_uncommitted" else ""
    assert shown(read_table(lake, "records")) == f"{rows}2c 3d 4e 6f"
    assert not kinds(audited(lake))
    assert not [check for check in checked(disk, lake) if check.has_problem]


def with_last_delta(batch: EncodedBatch, last_delta: int) -> EncodedBatch:
    """The batch with another last offset delta, and the checksum that belongs to it."""
    data = bytearray(batch.data)
    data[23:27] = last_delta.to_bytes(4, "big", signed=True)
    data[17:21] = crc32c.crc32c(bytes(data[21:])).to_bytes(4, "big")
    return batch._replace(data=bytes(data))


@pytest.mark.parametrize("last_delta", [0, 1, -7])
def test_records_above_the_header_of_the_last_batch_are_not_missing_from_the_disk(
    last_delta: int, tmp_path: Path
) -> None:
    disk = written(tmp_path / "disk", log_of(Contradiction(last_offset_delta=last_delta), 2), 9)
    for records in (9, 0):
        summary = ingested(disk, tmp_path / "lake")
        assert (
            summary.records,
            summary.findings.of(FindingKind.NOT_ON_DISK),
            summary.exit_code,
        ) == (
            records,
            [],
            0,
        )


def test_offsets_that_only_a_header_leaves_out_are_not_said_to_be_missing(tmp_path: Path) -> None:
    batches = [last_delta_zero(0, "abc"), last_delta_zero(3, "def"), last_delta_zero(6, "ghi")]
    write_over(tmp_path / "disk", [Partition("orders", 0, [Segment(0, batches)])])
    summary = ingested(tmp_path / "disk", tmp_path / "lake")
    assert (summary.records, summary.gaps, summary.notes) == (9, {}, [])
