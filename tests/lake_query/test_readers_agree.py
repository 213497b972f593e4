"""What is shown for each reader is right of lakes with windows, repairs, tombstones, new topics."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from seglake.lake.tables import TABLES
from support import broker_disks
from support.cases import cases
from support.lakes import ingested
from support.oracle import expected_records
from support.page_readers import by_duckdb, by_parquet, by_views
from support.query_answers import Answers, Likened
from support.query_page import in_checkout

Row = Mapping[str, object]
Reader = Callable[..., Answers]

_TOPIC = "orders"
_READERS: list[Reader] = [by_duckdb, by_parquet]
_BY_NAME = {reader.__name__: reader for reader in _READERS}
_COMPACTED = ["cmp-tombs", "cmp-v2", "cmp-v0-lz4"]


def _range(partition: int, start: int, end: int, generation: int, **other: object) -> Row:
    row = {
        "source_id": "c1",
        "topic_id": "id1",
        "topic": _TOPIC,
        "partition": partition,
        "kind": "ingest",
        "start_offset": start,
        "next_offset": end,
        "records": 0,
        "generation": generation,
        "attempt_id": f"attempt{generation}",
        "committed_at": _hour(generation),
    }
    return row | other


def _hour(hour: int) -> datetime:
    return datetime(2026, 11, 1, hour, tzinfo=UTC)


def _seen(hour: int, partition: int, next_offset: int | None, log_end: int, **other: object) -> Row:
    row = {
        "source_id": "c1",
        "topic_id": "id1",
        "topic": _TOPIC,
        "partition": partition,
        "next_offset": next_offset,
        "log_end_offset": log_end,
        "observed_at": _hour(hour),
    }
    return row | other


def _gap(start: int, end: int, cause: str, attempt: int, **other: object) -> Row:
    row = {"source_id": "c1", "topic_id": "id1", "topic": _TOPIC, "partition": 0, "cause": cause}
    spans = {"start_offset": start, "next_offset": end, "attempt_id": f"attempt{attempt}"}
    return row | spans | other


def _record(
    offset: int, key: bytes | None, value: bytes | None, partition: int = 0, **other: object
) -> Row:
    row = {
        "source_id": "c1",
        "topic_id": "id1",
        "topic": _TOPIC,
        "partition": partition,
        "offset": offset,
        "key": key,
        "value": value,
        "transaction_state": "none",
        "batch_base_offset": offset,
    }
    return row | other


_ROWS: Mapping[str, Sequence[Row]] = {
    "checkpoints": [
        _range(0, 10, 20, 2, records=5, log_end_offset=70),  # of another broker, or cut since
        _range(0, 0, 10, 1, records=8, log_end_offset=10, topic_id=None),  # no ids then
        _range(0, 40, 50, 4, records=10, log_end_offset=60),  # a window
        _range(0, 12, 17, 5, records=3, kind="repair"),
        _range(1, 5, 9, 1, records=4),  # not from 0 on
        _range(2, 0, 0, 1, log_end_offset=0),
        _range(0, 0, 3, 6, records=2, log_end_offset=3, topic_id="id2"),  # made again
    ],
    "gaps": [
        _gap(3, 5, "compacted", 1, topic_id=None),
        _gap(12, 17, "quarantined", 2),  # repaired but for two
        _gap(12, 14, "missing", 5),
        _gap(0, 1, "deleted", 6, topic_id="id2"),
    ],
    "observations": [
        _seen(8, 0, 50, 90, topic_id=None),
        _seen(7, 0, 50, 500),
        _seen(9, 1, None, 30),  # refused, so that nothing of it is left
        _seen(5, 0, 2, 600, topic_id="id2"),  # a later run was killed before it said what it saw
        _seen(9, 4, 0, 10),  # nothing of it was ingested
    ],
    "records": [
        _record(0, b"a", b"before ids", topic_id=None),
        _record(10, b"a", b"after"),
        _record(1, b"b", b"kept once"),
        _record(11, b"b", None),
        _record(2, None, b"no key"),
        _record(3, b"", b""),
        _record(12, b"c", b"committed", transaction_state="committed"),
        _record(13, b"c", b"aborted", transaction_state="aborted"),
        _record(14, b"d", b"open", transaction_state="open"),
        _record(15, b"\xff", b"\x00"),
        _record(5, b"a", b"elsewhere", partition=1),
        _record(0, b"a", b"made again", topic_id="id2"),
    ],
}
_NAMES = ("topic", "partition", "covered", "records", "in_batches")
_CAUSES = (
    *("compacted", "deleted", "marker", "deleted_or_lost", "remote"),
    *("undecided", "quarantined", "missing"),
)
_RIGHT = {
    "last_offsets": [
        {"topic": _TOPIC, "partition": partition, "next_offset": reached}
        for partition, reached in ((0, 20), (0, 3), (1, None), (2, 0))
    ],
    "completeness": [
        dict(zip((*_NAMES, *_CAUSES, "left_above"), (_TOPIC, *numbers), strict=True))
        for numbers in (
            (0, 30, 26, 0, 2, 0, 0, 0, 0, 0, 0, 2, 40),
            (0, 3, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
            (1, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, None),
            (2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        )
    ],
    "latest": [
        {"partition": partition, "key_text": key, "value_text": value, "offset": offset}
        for partition, key, value, offset in (
            (0, "a", "after", 10),
            (0, "a", "made again", 0),
            (0, "", "", 3),
            (0, "c", "committed", 12),
            (0, None, "\x00", 15),
            (1, "a", "elsewhere", 5),
        )
    ],
}


@pytest.fixture(scope="module")
def made_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("made") / "lake"
    for table in TABLES:
        content = pa.Table.from_pylist(list(_ROWS.get(table.name, [])), schema=table.schema)
        write_deltalake(lake / table.name, content, partition_by=list(table.partition_by) or None)
    return lake


@pytest.fixture(scope="module")
def compacted_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("compacted") / "lake"
    ingested(broker_disks.log_dir("05_compacted", "after"), lake)
    return lake


def _in_any_order(rows: Likened) -> list[str]:
    return sorted(
        repr(sorted((name, value) for name, value in row.items() if name != "timestamp"))
        for row in rows
    )


def _check(answers: Answers) -> None:
    for question, right in _RIGHT.items():
        assert _in_any_order(getattr(answers, question)) == _in_any_order(right), question


@pytest.mark.parametrize("reader", _READERS)
def test_reader_is_right_of_windows_repairs_and_topics_made_again(
    reader: Reader, made_lake: Path, tmp_path: Path
) -> None:
    with in_checkout(tmp_path, made_lake):
        _check(reader(topic=_TOPIC))


@pytest.mark.spark
def test_views_are_right_of_windows_repairs_and_topics_made_again(
    spark_session: SparkSession, made_lake: Path
) -> None:
    _check(by_views(spark_session, str(made_lake), _TOPIC))


@pytest.mark.parametrize(
    ("reader", "topic"),
    cases(
        [*product(_BY_NAME, _COMPACTED)],
        telling=[*zip(_BY_NAME, _COMPACTED, strict=False)],
    ),
)
def test_tombstones_remove_their_keys(
    reader: str, topic: str, compacted_lake: Path, tmp_path: Path
) -> None:
    with in_checkout(tmp_path, compacted_lake):
        latest = _BY_NAME[reader](topic=topic).latest
    records = expected_records("05_compacted", "after", topic, 0)
    newest = {record.key: record for record in records if record.key is not None}
    kept = [record.offset for record in newest.values() if record.value is not None]
    assert len(kept) < len(newest), "no key ends with a tombstone"
    assert [row["offset"] for row in latest] == sorted(kept)
