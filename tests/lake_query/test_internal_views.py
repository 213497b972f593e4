"""What the views say of the tables of internal topics, over rows written by hand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from seglake.lake.tables import TABLES

Row = Mapping[str, object]
Asked = Callable[[Path, str], list[dict[str, object]]]
SNAPSHOT = "00000000000000000100-0000000001.checkpoint"


def commit(record_offset: int, group: str, topic: str, offset: int | None, **other: object) -> Row:
    row = {
        "source_id": "c1",
        "kind": "offset_commit",
        "group_id": group,
        "topic": topic,
        "partition": 0,
        "offset": offset,
        "is_tombstone": offset is None,
        "record_topic_id": "id1",
        "record_partition": 7,
        "record_offset": record_offset,
    }
    return row | other


def metadata(*record_types: str, snapshot: str | None = None) -> Iterator[Row]:
    """Records one behind the other; a topic is named for its place."""
    for offset, name in zip(count(), record_types, strict=False):
        yield {
            "source_id": "c1",
            "record_type": name,
            "topic": f"t{offset}" if name == "topic" else None,
            "snapshot": snapshot,
            "record_offset": offset,
        }


OFFSETS: Sequence[Row] = [
    commit(5, "a", "orders", 10),
    commit(9, "a", "orders", 30),
    commit(7, "a", "orders", 20),
    commit(8, "a", "payments", 4),
    commit(6, "b", "orders", 15),
    commit(10, "b", "orders", None),  # expired, or deleted
    commit(3, "c", "orders", None),
    commit(4, "c", "orders", 1),  # and came back
    commit(99, "a", "orders", None, unread_reason="value: cut"),
    commit(100, "a", None, None, kind="classic_group"),  # type: ignore[arg-type]  # has no topic
    commit(2, "a", "orders", 77, source_id="c2"),
]


def copied(record_offset: int, segment: str, event: str, state: str, **other: object) -> Row:
    """An event of a copy of a segment of `orders`."""
    row = {
        "source_id": "c1",
        "event": event,
        "topic": "orders",
        "topic_id": "id2",
        "partition": 0,
        "segment_id": segment,
        "state": state,
        "record_topic_id": "id1",
        "record_partition": 3,
        "record_offset": record_offset,
    }
    return row | other


BEGUN, MORE = "segment", "segment_update"
COPIES: Sequence[Row] = [
    copied(10, "there", BEGUN, "copy_started", start_offset=0, end_offset=9, size_bytes=500),
    copied(11, "there", MORE, "copy_finished", custom_metadata=b"\x03\x00"),
    copied(12, "begun", BEGUN, "copy_started", start_offset=10, end_offset=19),
    # A deletion that began, and ends though its copy is said to have ended in between.
    copied(20, "gone", BEGUN, "copy_started", start_offset=0, end_offset=4),
    copied(21, "gone", MORE, "copy_finished", custom_metadata=b"old"),
    copied(22, "gone", MORE, "delete_started"),
    copied(23, "gone", MORE, "copy_finished", custom_metadata=b"late"),
    copied(24, "gone", MORE, "delete_finished"),
    # A deletion cannot end before it began.
    copied(30, "odd", BEGUN, "copy_started", start_offset=20, end_offset=29),
    copied(31, "odd", MORE, "delete_finished"),
    copied(32, "odd", MORE, "copy_finished"),
    copied(40, "half", BEGUN, "copy_started", start_offset=30, end_offset=39),
    copied(41, "half", MORE, "delete_started"),
    # What came before the start of the copy, or without it, counts nothing.
    copied(5, "there", MORE, "delete_started"),
    copied(50, "unknown", MORE, "copy_finished"),
    copied(60, "there", "partition_delete", "delete_marked", segment_id=None),
    copied(61, "there", BEGUN, "copy_started", source_id="c2", start_offset=7, end_offset=8),
]
METADATA: Sequence[Row] = [
    *metadata(
        *("topic", "begin_transaction", "topic", "topic", "end_transaction", "topic"),
        *("begin_transaction", "topic", "abort_transaction", "topic"),
        *("begin_transaction", "topic"),
    ),
    *metadata("topic", "topic", snapshot=SNAPSHOT),
]


@pytest.fixture(scope="module")
def lake_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("lake")
    rows = {
        "consumer_offsets": OFFSETS,
        "cluster_metadata": METADATA,
        "remote_log_metadata": COPIES,
    }
    for table in TABLES:
        content = pa.Table.from_pylist(list(rows.get(table.name, [])), schema=table.schema)
        write_deltalake(lake / table.name, content, partition_by=list(table.partition_by) or None)
    return lake


def test_a_groups_offset_is_the_last_that_it_committed(ask: Asked, lake_path: Path) -> None:
    text = "SELECT source_id, group_id, topic, offset FROM group_offsets ORDER BY 1, 2, 3"
    assert [tuple(row.values()) for row in ask(lake_path, text)] == [
        ("c1", "a", "orders", 30),
        ("c1", "a", "payments", 4),
        ("c1", "c", "orders", 1),
        ("c2", "a", "orders", 77),
    ]


def test_metadata_of_a_transaction_counts_when_it_was_ended(ask: Asked, lake_path: Path) -> None:
    text = (
        "SELECT topic, snapshot FROM settled_metadata ORDER BY snapshot NULLS FIRST, record_offset"
    )
    assert [tuple(row.values()) for row in ask(lake_path, text)] == [
        *[(f"t{offset}", None) for offset in (0, 2, 3, 5, 9)],
        ("t0", SNAPSHOT),
        ("t1", SNAPSHOT),
    ]


def test_a_remote_segment_has_the_state_that_brokers_give_it(ask: Asked, lake_path: Path) -> None:
    text = (
        "SELECT source_id, segment_id, state, start_offset, end_offset, hex(custom_metadata),"
        " record_offset FROM remote_segments ORDER BY 1, 2"
    )
    assert [tuple(row.values()) for row in ask(lake_path, text)] == [
        ("c1", "begun", "copy_started", 10, 19, None, 12),
        ("c1", "gone", "delete_finished", 0, 4, "6F6C64", 24),
        ("c1", "half", "delete_started", 30, 39, None, 41),
        ("c1", "odd", "copy_finished", 20, 29, None, 32),
        ("c1", "there", "copy_finished", 0, 9, "0300", 11),
        ("c2", "there", "copy_started", 7, 8, None, 61),
    ]
