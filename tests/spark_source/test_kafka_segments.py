"""`spark.read.format("kafka_segments")`: found by Spark itself, with filters and options."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.lakes import ingested, read_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

_SAMPLES = Path(__file__).parents[2] / "samples" / "broker-0"
_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
_COLUMNS = ["topic", "partition", "offset", "key", "value", "timestamp_ms", "headers"]


@pytest.fixture(params=[False, True], ids=["plain", "pushing"])
def session(
    request: pytest.FixtureRequest, spark_session: "SparkSession"
) -> "Iterator[SparkSession]":
    spark_session.conf.set(_PUSHDOWN, request.param)
    yield spark_session
    spark_session.conf.unset(_PUSHDOWN)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    lake = tmp_path_factory.mktemp("lake")
    ingested(_SAMPLES, lake / "lake", isolation="read_committed")
    rows = read_arrow(lake / "lake", "records").select(_COLUMNS).to_pylist()
    return sorted((_plain(row) for row in rows), key=lambda row: row[:3])


def _plain(row: dict[str, Any]) -> tuple[Any, ...]:
    headers = row["headers"]
    pairs = (
        None if headers is None else tuple((header["key"], header["value"]) for header in headers)
    )
    return (*(row[name] for name in _COLUMNS[:-1]), pairs)


def _rows(frame: "DataFrame") -> list[tuple[Any, ...]]:
    rows = [row.asDict(recursive=True) for row in frame.select(_COLUMNS).collect()]
    return sorted(
        (_plain({name: _bytes(value) for name, value in row.items()}) for row in rows),
        key=lambda row: row[:3],
    )


def _bytes(value: object) -> object:
    return bytes(value) if isinstance(value, bytearray) else value


def _all(session: "SparkSession", **options: str) -> "DataFrame":
    reader = session.read.format("kafka_segments").option("failOnDataLoss", "false")
    return reader.options(**options).load(str(_SAMPLES))


def test_it_has_the_rows_of_the_table(
    session: "SparkSession", expected: list[tuple[Any, ...]]
) -> None:
    assert _rows(_all(session)) == expected


def test_filters_give_what_they_say(
    session: "SparkSession", expected: list[tuple[Any, ...]]
) -> None:
    frame = _all(session).where("topic IN ('v2-none', 'tx-a') AND partition = 1 AND offset > 150")
    found = [row for row in expected if row[0] in ("v2-none", "tx-a") and row[1] == 1]
    assert _rows(frame) == [row for row in found if row[2] > 150]


def test_filters_that_planning_cannot_honour_are_honoured_by_spark(
    session: "SparkSession", expected: list[tuple[Any, ...]]
) -> None:
    frame = _all(session)
    apart = [row for row in expected if row[2] in (3, 160)]
    without_key = [row for row in expected if row[3] is None]
    assert _rows(frame.where("offset IN (3, 160)")) == apart
    assert _rows(frame.where("key IS NULL")) == without_key
    assert {row[2] for row in apart} == {3, 160}
    assert 0 < len(without_key) < len(expected)


def test_pushed_filters_leave_tasks_out(spark_session: "SparkSession") -> None:
    spark_session.conf.set(_PUSHDOWN, True)
    options = {"read.split_bytes": "65536", "read.window_bytes": "65536"}
    whole = _all(spark_session, **options)
    part = whole.where("topic = 'v2-lz4' AND offset = 3")
    none = whole.where("topic = 'no such topic'")
    partitions = [frame.rdd.getNumPartitions() for frame in (whole, part, none)]
    spark_session.conf.unset(_PUSHDOWN)
    assert partitions[0] > 1
    assert partitions[1:] == [1, 1]
    assert none.count() == 0


def test_options_choose_as_those_of_the_command(session: "SparkSession") -> None:
    options = {"topics": "tx-*, !tx-b", "isolation": "read_uncommitted"}
    states = _all(session, **options).groupBy("topic", "transaction_state").count().collect()
    assert {row["topic"] for row in states} == {"tx-a"}
    assert {row["transaction_state"] for row in states} == {"none", "committed", "aborted", "open"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "bad_length in v2-none-1/00000000000000000117.log at position 2862"),
        ({"bogus": "1"}, "no option 'bogus'"),
        ({"isolation": "dirty"}, "isolation"),
        ({"failOnDataLoss": "perhaps"}, "true or false"),
    ],
)
def test_what_is_wrong_is_said(
    options: dict[str, str], said: str, spark_session: "SparkSession"
) -> None:
    from pyspark.errors import PySparkException

    reader = spark_session.read.format("kafka_segments").options(**options)
    with pytest.raises(PySparkException) as caught:
        reader.load(str(_SAMPLES)).count()
    assert said in str(caught.value)


def test_several_folders_are_read_as_one(
    spark_session: "SparkSession", expected: list[tuple[Any, ...]]
) -> None:
    folders = [str(_SAMPLES / name) for name in ("v2-lz4-0", "tx-a-1")]
    frame = spark_session.read.format("kafka_segments").load(folders)
    assert _rows(frame) == [row for row in expected if row[:2] in (("v2-lz4", 0), ("tx-a", 1))]
