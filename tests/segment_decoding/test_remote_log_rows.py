"""The table `remote_log_metadata` and its view, row by row against what Kafka printed."""

from pathlib import Path

import pytest

from support.broker_disks import log_dir
from support.lakes import Row, ingested, read_table
from support.remote_log_dumps import PrintedEvent, dumped_events
from support.views import viewed

TOPIC = "__remote_log_metadata"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("lake") / "lake"
    summary = ingested(
        log_dir("12_tiered", "stopped"),
        lake,
        select={"internal_topics": True, "topics": [TOPIC]},
        read={"upper_bound": "log_end"},
    )
    assert (summary.counts.records, summary.counts.unread_internal) == (16, 0)
    return lake


def test_every_row_is_what_kafka_printed(lake: Path) -> None:
    rows = sorted(read_table(lake, "remote_log_metadata"), key=lambda row: row["record_offset"])
    printed = [*dumped_events("12_tiered", "stopped", 0)]
    assert [event_of(row) for row in rows] == printed
    assert {(row["record_partition"], row["is_tombstone"]) for row in rows} == {(0, False)}
    assert {(row["key"], row["value"], row["unread_reason"]) for row in rows} == {(None,) * 3}


def event_of(row: Row) -> PrintedEvent:
    epochs = row["leader_epochs"]
    numbers = {
        "startOffset": row["start_offset"],
        "endOffset": row["end_offset"],
        "brokerId": row["broker_id"],
        "maxTimestampMs": row["max_timestamp_ms"],
        "eventTimestampMs": row["event_timestamp_ms"],
        "segmentSizeInBytes": row["size_bytes"],
    }
    return PrintedEvent(
        record_offset=row["record_offset"],
        timestamp_ms=row["record_timestamp_ms"],
        event=row["event"],
        topic_id=row["topic_id"],
        topic=row["topic"],
        partition=row["partition"],
        segment_id=row["segment_id"],
        state=row["state"],
        leader_epochs=None if epochs is None else [tuple(each.values()) for each in epochs],
        numbers={name: number for name, number in numbers.items() if number is not None},
        is_transaction_index_empty=row["is_transaction_index_empty"],
    )


def test_the_view_has_one_row_for_each_copy(lake: Path) -> None:
    rows = viewed(lake, "SELECT segment_id, state, start_offset FROM remote_segments")
    printed = dumped_events("12_tiered", "stopped", 0)
    begun = {each.segment_id: each.numbers["startOffset"] for each in printed if each.leader_epochs}
    assert len(begun) == 8
    expected = sorted((name, "copy_finished", start) for name, start in begun.items())
    assert sorted(tuple(row.values()) for row in rows) == expected
