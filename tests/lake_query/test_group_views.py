"""What the view of groups' lag says, over rows written by hand."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.views import query

Row = Mapping[str, object]
Asked = Callable[[Path, str], list[dict[str, object]]]
OLD, NEW = "old-id", "new-id"


def commit(record_offset: int, group: str, offset: int | None, **other: object) -> Row:
    row = {
        "source_id": "c1",
        "kind": "offset_commit",
        "group_id": group,
        "topic": "orders",
        "partition": 0,
        "offset": offset,
        "is_tombstone": offset is None,
        "record_topic_id": "internal",
        "record_partition": 7,
        "record_offset": record_offset,
    }
    return row | other


def member(record_offset: int, group: str, kind: str, name: str | None, **other: object) -> Row:
    return commit(record_offset, group, None, kind=kind, member_id=name, topic=None, **other)


def seen(topic: str, partition: int, end: int | None, hour: int = 1, **other: object) -> Row:
    row = {
        "source_id": "c1",
        "topic": topic,
        "topic_id": NEW,
        "partition": partition,
        "log_end_offset": end,
        "high_watermark": 90,
        "stopped_by": "log_end",
        "observed_at": datetime(2026, 1, 1, hour, tzinfo=UTC),
    }
    return row | other


def taken(topic: str, partition: int, end: int, **other: object) -> Row:
    row = {
        "source_id": "c1",
        "topic": topic,
        "topic_id": NEW,
        "partition": partition,
        "kind": "ingest",
        "start_offset": 0,
        "next_offset": end,
        "log_end_offset": end,
        "generation": 1,
        "committed_at": datetime(2026, 1, 1, 0, tzinfo=UTC),
    }
    return row | other


CLASSIC = {"detail": json.dumps({"members": [{"memberId": "a"}, {"memberId": "b"}]})}
OFFSETS: Sequence[Row] = [
    commit(1, "behind", 60),
    commit(2, "beyond", 130),  # the log was truncated below it
    commit(3, "gone", 5, topic="deleted"),
    commit(4, "before", 5, topic_id=OLD),
    commit(5, "after", 5, topic_id=NEW),
    commit(6, "refused", 5, topic="refused"),
    commit(7, "lagging", 5, topic="copied"),
    commit(8, "elected", 110, topic="elected"),
    commit(9, "joined", 1, record_topic_id=None),  # before the id was known
    commit(10, "joined", 2),
    member(20, "behind", "classic_group", None, is_tombstone=False, **CLASSIC),
    member(21, "after", "consumer_group", None, is_tombstone=False),
    member(22, "after", "consumer_group_member", "a", is_tombstone=False),
    member(23, "after", "consumer_group_member", "b", is_tombstone=False),
    member(24, "after", "consumer_group_member", "b"),  # left
    member(25, "after", "classic_group", None),  # it was one before
    member(26, "before", "classic_group", None, is_tombstone=False, detail='{"members":[]}'),
]
OBSERVATIONS: Sequence[Row] = [
    seen("orders", 0, 80, hour=1, topic_id=OLD),
    seen("orders", 0, 100, hour=2),
    seen("orders", 1, 7),
    seen("refused", 0, None, stopped_by="refused"),
    seen("copied", 0, 30),  # of an older copy
    seen("elected", 0, 95),
]
CHECKPOINTS: Sequence[Row] = [
    taken("__consumer_offsets", 7, 100, topic_id="internal"),
    taken("orders", 0, 80, topic_id=OLD),
    taken("orders", 0, 100, generation=2),
    taken("refused", 0, 40),
    taken("copied", 0, 50),
    taken("elected", 0, 120),
    taken("elected", 0, 120, kind="superseded", start_offset=90, generation=2),
]


@pytest.fixture(scope="module")
def lake_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("lake")
    rows = {
        "consumer_offsets": OFFSETS,
        "observations": OBSERVATIONS,
        "checkpoints": CHECKPOINTS,
    }
    for table in TABLES:
        content = pa.Table.from_pylist(list(rows.get(table.name, [])), schema=table.schema)
        write_deltalake(lake / table.name, content, partition_by=list(table.partition_by) or None)
    return lake


def test_lag_counts_to_the_end_of_the_log_that_a_commit_is_of(ask: Asked, lake_path: Path) -> None:
    text = (
        "SELECT group_id, topic, current_offset, log_end_offset, lag FROM group_lag"
        " WHERE current_offset IS NOT NULL ORDER BY 1"
    )
    assert [tuple(row.values()) for row in ask(lake_path, text)] == [
        ("after", "orders", 5, 100, 95),
        ("before", "orders", 5, 80, 75),
        ("behind", "orders", 60, 100, 40),
        ("beyond", "orders", 130, 100, -30),
        ("elected", "elected", 110, 95, -15),
        ("gone", "deleted", 5, None, None),
        ("joined", "orders", 2, 100, 98),
        ("lagging", "copied", 5, 50, 45),
        ("refused", "refused", 5, 40, 35),
    ]


def test_partition_without_a_commit_has_an_end_and_no_lag(ask: Asked, lake_path: Path) -> None:
    text = (
        "SELECT group_id, partition, current_offset, log_end_offset, lag FROM group_lag"
        " WHERE topic = 'orders' AND group_id IN ('behind', 'beyond') ORDER BY 1, 2"
    )
    assert [tuple(row.values()) for row in ask(lake_path, text)] == [
        ("behind", 0, 60, 100, 40),
        ("behind", 1, None, 7, None),
        ("beyond", 0, 130, 100, -30),
        ("beyond", 1, None, 7, None),
    ]


def test_a_groups_members_are_those_that_have_not_left(ask: Asked, lake_path: Path) -> None:
    text = (
        "SELECT DISTINCT group_id, group_kind, members FROM group_lag"
        " WHERE group_id IN ('after', 'before', 'behind', 'beyond') ORDER BY 1"
    )
    assert [tuple(row.values()) for row in ask(lake_path, text)] == [
        ("after", "consumer", 1),
        ("before", "classic", 0),
        ("behind", "classic", 2),
        ("beyond", None, None),
    ]


def test_both_engines_know_how_far_the_logs_behind_an_answer_were_seen(
    ask: Asked, lake_path: Path
) -> None:
    rows = ask(lake_path, query("internal_logs", "'orders', 'refused'"))
    assert {
        (row["topic"], row["partition"], row["log_end_offset"], row["gaps"]) for row in rows
    } == {
        ("orders", 0, 80, 0),
        ("orders", 0, 100, 0),
        ("orders", 1, 7, 0),
        ("refused", 0, None, 0),
    }
