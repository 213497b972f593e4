"""What the views of topics' configs and of leaders say, over metadata written by hand."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from seglake.lake.tables import TABLES

Row = Mapping[str, object]
Asked = Callable[[Path, str], list[dict[str, object]]]
SNAPSHOT = "00000000000000000100-0000000001.checkpoint"
DAMAGED = "00000000000000000900-0000000001.checkpoint"


def record(offset: int | None, record_type: str, **other: object) -> Row:
    return {"source_id": "c1", "record_type": record_type, "record_offset": offset, **other}


def topic(offset: int, name: str, topic_id: str, **other: object) -> Row:
    return record(offset, "topic", topic=name, topic_id=topic_id, **other)


def config(offset: int, name: str, value: str | None, topic: str = "a", **other: object) -> Row:
    found = {"resource_type": "topic", "resource_name": topic, "topic": topic}
    return record(offset, "config", name=name, value=value, **found, **other)


def partition(offset: int, topic_id: str, leader: int, **other: object) -> Row:
    facts = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader_epoch": 4, "partition_epoch": 8}
    named = {"topic_id": topic_id, "partition": 0, "leader": leader}
    return record(offset, "partition", **(named | facts | other))


def change(offset: int, topic_id: str, **other: object) -> Row:
    return record(offset, "partition_change", topic_id=topic_id, partition=0, **other)


def elr(*brokers: int) -> str:
    return json.dumps({"eligibleLeaderReplicas": [*brokers], "lastKnownElr": None})


ROWS: Sequence[Row] = [
    # Below the snapshot: b was deleted between this and the snapshot, and its record is lost.
    topic(0, "b", "B"),
    config(1, "retention.ms", "1", "b"),
    topic(2, "a", "A"),
    partition(3, "A", 3, leader_epoch=0),
    config(4, "retention.bytes", "5"),
    # A snapshot has its own offsets, and no order between what it holds.
    config(1, "retention.ms", "10", snapshot=SNAPSHOT),
    topic(5, "a", "A", snapshot=SNAPSHOT),
    partition(6, "A", 1, snapshot=SNAPSHOT),
    topic(7, "d", "D", snapshot=SNAPSHOT),
    partition(8, "D", 1, snapshot=SNAPSHOT, detail=elr(3)),
    config(9, "retention.ms", "4", "d", snapshot=SNAPSHOT),
    # Above it.
    config(100, "retention.ms", "20"),
    config(101, "cleanup.policy", "compact"),
    config(102, "cleanup.policy", None),
    change(103, "A", leader=2),
    change(104, "A", isr=[2]),
    change(105, "A", leader=-1, isr=[], detail=elr(2)),
    record(106, "remove_topic", topic_id="D"),
    config(107, "segment.ms", "9", "d"),  # a broker wrote configs before the topic
    topic(108, "d", "D2"),
    partition(109, "D2", 1, detail=elr(3)),
    record(110, "clear_elr", topic="d"),
    # A snapshot that cannot be read to the end stands for nothing.
    config(0, "segment.bytes", "7", snapshot=DAMAGED),
    record(None, "unknown", unread_reason="it ends in torn", snapshot=DAMAGED),
]


@pytest.fixture(scope="module")
def lake_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("lake")
    for table in TABLES:
        rows = list(ROWS) if table.name == "cluster_metadata" else []
        content = pa.Table.from_pylist(rows, schema=table.schema)
        write_deltalake(lake / table.name, content, partition_by=list(table.partition_by) or None)
    return lake


def test_configs_are_the_newest_of_topics_that_are_there(ask: Asked, lake_path: Path) -> None:
    text = "SELECT topic, topic_id, name, value FROM topic_configs ORDER BY 1, 3"
    assert [tuple(row.values()) for row in ask(lake_path, text)] == [
        ("a", "A", "retention.ms", "20"),
        ("a", "A", "segment.bytes", "7"),
        ("d", "D2", "segment.ms", "9"),
    ]


def test_changes_of_a_partition_are_applied_to_the_newest_snapshot(
    ask: Asked, lake_path: Path
) -> None:
    text = (
        "SELECT topic, leader, last_leader, leader_epoch, partition_epoch, replicas, isr, elr"
        " FROM partition_leaders ORDER BY 1"
    )
    assert [tuple(row.values()) for row in ask(lake_path, text)] == [
        ("a", None, 2, 6, 11, [1, 2, 3], [], [2]),
        ("d", 1, 1, 4, 8, [1, 2, 3], [1, 2, 3], []),
    ]
