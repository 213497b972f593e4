"""What comes of internal topics beside their raw rows: what is read, left out, or kept raw."""

from pathlib import Path

import pytest

from seglake.lake.tables import TABLES
from seglake.segment_decoding import internal_rows
from support.accounts import imbalances_of
from support.broker_disks import log_dir
from support.cases import cases
from support.dying import Died, dying
from support.encoder import ControlType, Partition, Segment, end_marker
from support.encoder.internal import int16, offset_key, offset_value, string
from support.internal_logs import (
    INTERNAL,
    OFFSETS,
    TRANSACTIONS,
    batch,
    commits,
    rows_of,
    write_topic,
)
from support.lakes import content, ingested, read_table
from support.made_logs import FIRST_MS, write_over


@pytest.mark.parametrize(
    ("isolation", "unsettled"), [("read_committed", 0), ("read_uncommitted", 3)]
)
def test_offset_commits_of_transactions_that_did_not_commit_are_left_out(
    isolation: str, unsettled: int, data: Path, lake: Path
) -> None:
    batches = [
        commits(0, 10),
        commits(1, 20, 21, producer_id=7),
        end_marker(3, ControlType.COMMIT, producer_id=7),
        commits(4, 30, 31, producer_id=7),
        end_marker(6, ControlType.ABORT, producer_id=7),
        commits(7, 40),
        commits(8, 50, producer_id=8),
    ]
    write_topic(data, OFFSETS, batches)
    summary = ingested(data, lake, isolation=isolation, select=INTERNAL)
    found = [
        (row["offset"], row["record_offset"], row["transaction_state"])
        for row in rows_of(lake, "consumer_offsets")
    ]
    assert found == [
        (10, 0, "none"),
        (20, 1, "committed"),
        (21, 2, "committed"),
        (40, 7, "none"),
    ]
    assert summary.counts.unsettled_internal == unsettled
    text = "records of internal topics in transactions that did not commit: 3"
    assert (text in summary.to_text()) == bool(unsettled)
    assert imbalances_of(lake) == []


def test_each_commit_comes_once_however_often_a_log_is_taken(data: Path, lake: Path) -> None:
    batches = [commits(5 * n, *range(5 * n, 5 * n + 5)) for n in range(6)]
    for count in (2, 2, 5, 6, 6):
        write_topic(data, OFFSETS, batches[:count])
        ingested(data, lake, select=INTERNAL)
        rows = rows_of(lake, "consumer_offsets")
        assert [row["offset"] for row in rows] == list(range(5 * count))
    assert {
        (row["source_id"], row["group_id"], row["topic"], row["partition"]) for row in rows
    } == {(rows[0]["source_id"], "g", "orders", 3)}
    times = [(row["commit_timestamp_ms"], row["commit_timestamp"].timestamp()) for row in rows]
    assert times == [(FIRST_MS + n, (FIRST_MS + n) / 1000) for n in range(30)]


def test_what_cannot_be_read_is_kept_raw_and_counted(data: Path, lake: Path) -> None:
    unread = [
        (int16(99) + b"later", b"\x00\x00new", None, "key type 99 is unknown"),
        (int16(17) + string("s"), b"\x00\x00x", "s", "values of this kind are not parsed"),
        (offset_key("g", "t", 0), b"\x00", "g", "a value of 1 bytes"),
        (offset_key("g", "t", 0), int16(9), "g", "value: version 9 is not in 0 to 4"),
        (None, b"x", None, "the key is null"),
        (b"", None, None, "a key of 0 bytes"),
    ]
    records = [(key, value) for key, value, _, _ in unread]
    write_topic(data, OFFSETS, [batch(0, records), commits(6, 1)])
    summary = ingested(data, lake, select=INTERNAL)
    *raw, sound = rows_of(lake, "consumer_offsets")
    found = [(row["key"], row["value"], row["group_id"], row["unread_reason"]) for row in raw]
    assert found == unread
    assert [row["kind"] for row in raw] == [
        *("unknown", "streams_group", "offset_commit", "offset_commit", "unknown", "unknown")
    ]
    assert (sound["key"], sound["value"], sound["unread_reason"]) == (None, None, None)
    assert summary.counts.unread_internal == 6
    assert "could not be read (unread_reason): 6" in summary.to_text()
    assert summary.exit_code == 0


def test_a_time_that_no_calendar_has_is_kept_as_milliseconds_only(data: Path, lake: Path) -> None:
    far = (1 << 63) - 1
    times = (far, -1, -far)
    records = [(offset_key("g", "t", 0), offset_value(1, time_ms)) for time_ms in times]
    write_topic(data, OFFSETS, [batch(0, records)])
    ingested(data, lake, select=INTERNAL)
    rows = rows_of(lake, "consumer_offsets")
    assert [row["commit_timestamp"] for row in rows] == [None] * 3
    assert [row["commit_timestamp_ms"] for row in rows] == [far, None, -far]


def test_a_tombstone_is_a_row(data: Path, lake: Path) -> None:
    write_topic(data, TRANSACTIONS, [batch(0, [(int16(0) + string("app"), None)])])
    ingested(data, lake, select=INTERNAL)
    (row,) = read_table(lake, "transaction_state")
    assert (row["transactional_id"], row["is_tombstone"], row["state"]) == ("app", True, None)


def test_many_rows_are_those_of_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = log_dir("06_transactions", "stopped")
    lakes = [tmp_path / "whole", tmp_path / "pieces"]
    ingested(source, lakes[0], select=INTERNAL)
    monkeypatch.setattr(internal_rows, "_MOST_ROWS", 3)
    ingested(source, lakes[1], select=INTERNAL)
    for table in ("records", "consumer_offsets", "transaction_state"):
        whole, pieces = (content(lake, table) for lake in lakes)
        assert whole == pieces
        assert whole


@pytest.mark.parametrize(
    "step", cases(["records", "gaps", "consumer_offsets"], telling=["gaps", "consumer_offsets"])
)
def test_a_run_that_dies_before_the_checkpoints_is_completed_by_the_next(
    step: str, tmp_path: Path
) -> None:
    source = log_dir("06_transactions", "stopped")
    whole, lake = tmp_path / "whole", tmp_path / "lake"
    ingested(source, whole, select=INTERNAL)

    with pytest.raises(Died):
        ingested(source, lake, select=INTERNAL, after=dying(step))
    assert read_table(lake, "records")
    assert read_table(lake, "checkpoints") == []
    assert bool(read_table(lake, "consumer_offsets")) == (step == "consumer_offsets")
    summary = ingested(source, lake, select=INTERNAL)
    assert OFFSETS in summary.recovered_topics
    assert summary.records == 0
    for table in ("records", "consumer_offsets", "transaction_state"):
        assert content(lake, table) == content(whole, table)
    assert imbalances_of(lake) == []


def test_without_internal_topics_their_tables_are_empty(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(log_dir("11_kraft", "stopped"), lake)
    assert read_table(lake, "records")
    for table in TABLES:
        if table.topics:
            assert read_table(lake, table.name) == []


def test_commits_that_a_healthy_copy_gives_later_are_rows_too(data: Path, lake: Path) -> None:
    batches = [commits(5 * n, *range(5 * n, 5 * n + 5)) for n in range(4)]
    cut = bytearray(batches[1].data)
    cut[-1] ^= 1
    damaged = [batches[0], batches[1]._replace(data=bytes(cut)), *batches[2:]]
    for broker_id, log in enumerate([damaged, batches]):
        partitions = [Partition(OFFSETS, 0, [Segment(0, log)])]
        write_over(data / str(broker_id), partitions, broker_id=broker_id)
    ingested(data / "0", lake, select=INTERNAL)
    offsets = [row["offset"] for row in rows_of(lake, "consumer_offsets")]
    assert offsets == [*range(5), *range(10, 20)]
    summary = ingested([data / "0", data / "1"], lake, select=INTERNAL)
    assert summary.counts.repaired_records == 5
    assert [row["offset"] for row in rows_of(lake, "consumer_offsets")] == list(range(20))
