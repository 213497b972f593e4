"""The views over records: transactions settled by later markers, payloads as text."""

import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from seglake.lake.tables import RECORDS, TABLES
from support import broker_disks
from support.lakes import ingested
from support.oracle import Isolation, expected_records
from support.rising_disks import rising
from support.written_lake import ask as asked

Row = Mapping[str, object]
Asked = Callable[[Path, str], list[dict[str, object]]]
_SCENARIO, _COPY = "06_transactions", "stopped"


@pytest.fixture(scope="module")
def grown_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real disks, taken in five runs while their high watermarks rise: transactions end between."""
    folder = tmp_path_factory.mktemp("grown")
    disk, lake = folder / "disk", folder / "lake"
    shutil.copytree(broker_disks.log_dir(_SCENARIO, _COPY), disk)
    for _ in rising(disk, (20, 40, 60, 80, 100)):
        ingested(disk, lake, select={"internal_topics": True})
    return lake


def test_settled_rows_are_those_that_a_consumer_of_committed_records_got(
    ask: Asked, grown_lake: Path
) -> None:
    rows = ask(
        grown_lake,
        "SELECT topic, partition, offset, value FROM settled_records"
        " WHERE transaction_state IN ('none', 'committed') ORDER BY topic, partition, offset",
    )
    found: dict[object, list[object]] = defaultdict(list)
    for row in rows:
        found[row["topic"], row["partition"]].append(row["offset"])
    for facts in broker_disks.partitions(_SCENARIO, _COPY):
        if facts.last_stable_offset is None:  # no consumer read it committed
            continue
        expected = [
            record.offset
            for record in expected_records(
                _SCENARIO, _COPY, facts.topic, facts.partition, Isolation.READ_COMMITTED
            )
        ]
        stable = facts.last_stable_offset
        offsets = found[facts.topic, facts.partition]
        assert [
            offset_range for offset_range in offsets if int(str(offset_range)) < stable
        ] == expected, facts


def test_settling_changes_the_state_of_open_rows_and_nothing_else(
    ask: Asked, grown_lake: Path
) -> None:
    columns = ", ".join(name for name in RECORDS.schema.names if name != "transaction_state")
    taken, settled = f"SELECT {columns} FROM records", f"SELECT {columns} FROM settled_records"
    unequal = f"({taken} EXCEPT ALL {settled}) UNION ALL ({settled} EXCEPT ALL {taken})"
    assert ask(grown_lake, unequal) == []
    counts = ask(
        grown_lake,
        "SELECT taken.transaction_state AS before, settled.transaction_state AS after,"
        " count(*) AS n FROM records AS taken JOIN settled_records AS settled"
        " USING (topic, partition, offset) GROUP BY ALL",
    )
    changes = {(row["before"], row["after"]): row["n"] for row in counts}
    assert changes.keys() == {
        ("none", "none"),
        ("committed", "committed"),
        ("aborted", "aborted"),
        ("open", "committed"),
        ("open", "aborted"),
        ("open", "open"),
    }
    assert changes["open", "open"] == 10  # of producer 6, which never ended


def _record(offset: int, **other: object) -> Row:
    row = {
        "topic": "orders",
        "partition": 0,
        "offset": offset,
        "source_id": "c1",
        "topic_id": "id1",
        "transaction_state": "open",
        "batch_base_offset": offset,
    }
    return row | other


def _batch(base_offset: int, state: str, **other: object) -> Row:
    is_marker = state in ("commit", "abort")
    row = {
        "topic": "orders",
        "partition": 0,
        "base_offset": base_offset,
        "source_id": "c1",
        "topic_id": "id1",
        "producer_id": 7,
        "control_type": state if is_marker else None,
        "transaction_state": "none" if is_marker else state,
    }
    return row | other


def _written(lake: Path, rows: Mapping[str, Sequence[Row]]) -> Path:
    for table in TABLES:
        content = pa.Table.from_pylist(list(rows.get(table.name, [])), schema=table.schema)
        write_deltalake(lake / table.name, content, partition_by=list(table.partition_by) or None)
    return lake


def test_the_first_later_marker_of_the_same_producer_and_log_settles_a_row(
    ask: Asked, tmp_path: Path
) -> None:
    again = {"topic_id": "id2"}  # the topic made again, with the same offsets
    lake = _written(
        tmp_path,
        {
            "records": [
                _record(0, topic_id=None),  # before the id was known
                _record(1),
                _record(2),
                _record(3),
                _record(0, **again),
                _record(9, transaction_state="committed"),
            ],
            "batches": [
                _batch(0, "open", topic_id=None),
                _batch(1, "open", producer_id=8),
                _batch(2, "open", producer_id=9),
                _batch(3, "open", partition=1),
                _batch(4, "leader_change"),
                _batch(5, "abort"),
                _batch(6, "commit"),
                _batch(7, "commit", producer_id=8),
                _batch(1, "commit", producer_id=9),  # before the data
                _batch(0, "open", **again),
                _batch(1, "commit", **again),
                _batch(9, "committed"),
                _batch(10, "abort"),
                _batch(11, "commit"),
            ],
            "checkpoints": [
                {"source_id": "c1", "topic": "orders", "topic_id": "id1", "generation": 2},
                {"source_id": "c1", "topic": "orders", "topic_id": "id2", "generation": 3},
            ],
        },
    )
    rows = ask(
        lake,
        "SELECT topic_id, offset, transaction_state FROM settled_records ORDER BY offset, topic_id",
    )
    assert [tuple(row.values()) for row in rows] == [
        ("id1", 0, "aborted"),  # before the id was known
        ("id2", 0, "committed"),
        ("id1", 1, "committed"),
        ("id1", 2, "open"),
        ("id1", 3, "open"),
        ("id1", 9, "committed"),
    ]


_VALUES: Sequence[tuple[bytes | None, str | None, bool]] = [
    (b'{"a": [1, 2.50]}', '{"a": [1, 2.50]}', True),
    (b" 5 ", " 5 ", True),
    (b"null", "null", True),
    ("né".encode(), "né", False),
    (b'{"a": 1} and more', '{"a": 1} and more', False),
    (b'1, "b": 2', '1, "b": 2', False),
    (b"1, 2", "1, 2", False),
    (b"1], [2", "1], [2", False),
    (b'1}, {"b": 2', '1}, {"b": 2', False),
    (b"{'a': 1}", "{'a': 1}", False),
    (b"NaN", "NaN", False),
    (b"", "", False),
    (b"\xff\xfe", None, False),
    (b"\xed\xa0\x80", None, False),  # a surrogate is no text
    (None, None, False),
]


@pytest.mark.spark
def test_readable_rows_have_the_text_where_it_is_text_and_json_where_it_is_json(
    spark_session: SparkSession, tmp_path: Path
) -> None:
    records = [
        _record(offset, value=value, key=value) for offset, (value, *_) in enumerate(_VALUES)
    ]
    lake = _written(tmp_path, {"records": records})
    text = "SELECT key_text, value_text, value_json FROM readable_records ORDER BY offset"
    rows = asked(spark_session, lake, text)
    assert [tuple(row.values()) for row in rows] == [
        (text, text, text if is_json else None) for _, text, is_json in _VALUES
    ]
    (row,) = asked(spark_session, lake, "SELECT * FROM readable_records WHERE offset = 0")
    added = {"key_text", "value_text", "value_json"}
    assert row.keys() == {*RECORDS.schema.names, *added}
