"""How each partition was seen last, in Spark and in DuckDB."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.dying import Died, dying
from support.encoder import Partition
from support.lakes import ingested
from support.made_logs import TOPIC_IDS, made_segments, write_over
from support.views import viewed
from support.written_lake import ask

_LAST = (
    "SELECT topic, partition, high_watermark, log_end_offset, stopped_by"
    " FROM last_observations ORDER BY topic, partition"
)
_OFFSETS = (
    "SELECT topic, partition, next_offset, log_end_offset, stopped_by"
    " FROM last_offsets ORDER BY topic, partition"
)
_LEFT = "SELECT partition, left_above FROM completeness ORDER BY partition"

Asked = Callable[[Path, str], list[tuple[object, ...]]]


def _disk(data: Path, stuck: int, other: int) -> None:
    parts = [
        Partition(
            "orders",
            number,
            made_segments("orders", number, [0, stop]),
            high_watermark=high_watermark,
            topic_id=TOPIC_IDS["orders"],
        )
        for number, stop, high_watermark in ((0, stuck, 10), (1, other, other - 5))
    ]
    nothing = Partition("idle", 0, made_segments("idle", 0, [0, 5]), high_watermark=0)
    write_over(data, [*parts, nothing])


@pytest.fixture(scope="module")
def seen_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A high watermark that stands still, and a run that was killed before it said what it saw."""
    folder = tmp_path_factory.mktemp("seen")
    data, lake = folder / "data", folder / "lake"
    _disk(data, 20, 20)
    ingested(data, lake)
    _disk(data, 400, 20)
    ingested(data, lake)
    _disk(data, 400, 50)
    with pytest.raises(Died):
        ingested(data, lake, after=dying("cleaned"))
    return lake


def _by_duckdb(lake: Path, text: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in viewed(lake, text)]


def _check(asked: Asked, lake: Path) -> None:
    assert asked(lake, _LAST) == [
        ("idle", 0, 0, 5, "high_watermark"),
        ("orders", 0, 10, 400, "high_watermark"),
        ("orders", 1, 45, 50, None),  # by the ledger, which is newer
    ]
    assert asked(lake, _OFFSETS) == [
        ("orders", 0, 10, 400, "high_watermark"),
        ("orders", 1, 45, 50, None),
    ]
    assert asked(lake, _LEFT) == [(0, 390), (1, 5)]


def test_duckdb_shows_each_partition_as_it_was_seen_last(seen_lake: Path) -> None:
    _check(_by_duckdb, seen_lake)


def _by_spark(session: SparkSession, lake: Path, text: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in ask(session, lake, text)]


@pytest.mark.spark
@pytest.mark.matrix  # the same text as in DuckDB
def test_spark_shows_the_same(spark_session: SparkSession, seen_lake: Path) -> None:
    _check(partial(_by_spark, spark_session), seen_lake)


@pytest.mark.spark
def test_spark_shows_the_ledger_alone_of_a_lake_from_before(
    spark_session: SparkSession, seen_lake: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(seen_lake, old)
    shutil.rmtree(old / "observations")
    asked = partial(_by_spark, spark_session)
    assert asked(old, _LAST) == [("orders", 0, 10, 20, None), ("orders", 1, 45, 50, None)]
    assert asked(old, "SELECT count(*) FROM observations") == [(0,)]
