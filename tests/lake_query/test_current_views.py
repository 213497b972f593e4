"""All readers of the query page leave out what lost an election, before and after a retake."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from seglake.task_engine.spark_engine import SparkEngine
from support.audits import audited
from support.elected_logs import TOPIC, ElectedLog, plain, write_elected
from support.encoder import Header, Partition, Record, Segment, record_batch
from support.encoder.internal import offset_key, offset_value
from support.lakes import content, ingested, retaken
from support.made_logs import FIRST_MS, write_over
from support.page_readers import by_duckdb, by_parquet, by_views
from support.query_answers import Answers
from support.query_page import in_checkout
from support.views import viewed

_BEFORE = plain(1, 2)
_LOSER = ElectedLog.of(*_BEFORE, *plain(1, 3))
_WINNER = ElectedLog.of(*_BEFORE, *plain(3, 2, 4))


@pytest.fixture(scope="module")
def elected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With `lost`, a lake whose rows lost an election, `retaken`, the same when it was mended, and
    `disk`, the log that won."""
    folder = tmp_path_factory.mktemp("elected")
    lake, disk = folder / "lost", folder / "disk"
    ingested(write_elected(disk, _LOSER), lake, read={"upper_bound": "log_end"})
    write_elected(disk, _WINNER, broker_id=1)
    assert ingested(disk, lake).exit_code == 3
    retaken(shutil.copytree(lake, folder / "retaken"), disk)
    return folder


def _records(answers: Answers) -> list[tuple[object, bytes]]:
    return [(row["offset"], str(row["value_text"]).encode()) for row in answers.records]


@pytest.mark.parametrize("reader", [by_parquet, by_duckdb])
def test_readers_of_the_page_get_what_a_consumer_gets(
    tmp_path: Path, elected: Path, reader: Callable[..., Answers]
) -> None:
    for lake, end in (("lost", 10), ("retaken", None)):
        folder = tmp_path / lake
        folder.mkdir()
        with in_checkout(folder, elected / lake):
            assert _records(reader(topic="orders")) == _WINNER.consumed()[:end]


@pytest.mark.spark
def test_spark_retakes_and_audits_as_the_local_engine_does(
    spark_session: SparkSession, elected: Path, lake: Path
) -> None:
    shutil.copytree(elected / "lost", lake)
    engine = SparkEngine(spark_session.sparkContext)
    assert audited(lake, engine=engine).exit_code == 3
    summary = retaken(lake, elected / "disk", engine=engine)
    assert (summary.exit_code, summary.records) == (0, 8)
    assert audited(lake, engine=engine).exit_code == 0
    assert content(lake, "records") == content(elected / "retaken", "records")


@pytest.mark.spark
@pytest.mark.matrix  # the same text as in DuckDB
def test_spark_gets_what_a_consumer_gets(spark_session: SparkSession, elected: Path) -> None:
    lost, lake = elected / "lost", elected / "retaken"
    assert _records(by_views(spark_session, str(lost), "orders")) == _WINNER.consumed()[:10]
    answers = by_views(spark_session, str(lake), "orders")
    assert _records(answers) == _WINNER.consumed()
    assert answers.last_offsets == [{"topic": "orders", "partition": 0, "next_offset": 18}]
    (sums,) = answers.completeness
    assert (sums["covered"], sums["records"], sums["left_above"]) == (18, 18, 0)


def _group_log(folder: Path, commits: list[tuple[int, int]], broker_id: int) -> Path:
    """A log of one group's commits: leader epoch, and the offset of `orders` that is committed."""
    batches = [
        record_batch(
            offset,
            [Record(offset_key("group", TOPIC, 0), offset_value(committed, FIRST_MS), FIRST_MS)],
            Header(leader_epoch=epoch),
        )
        for offset, (epoch, committed) in enumerate(commits)
    ]
    firsts = {epoch: offset for offset, (epoch, _) in reversed([*enumerate(commits)])}
    log = Partition(
        "__consumer_offsets", 0, [Segment(0, batches)], leader_epochs=sorted(firsts.items())
    )
    return write_over(folder, [log], broker_id=broker_id)


def test_a_groups_offset_is_that_of_the_log_that_won(tmp_path: Path) -> None:
    lake, disk = tmp_path / "lake", tmp_path / "disk"
    internal = {"internal_topics": True}
    _group_log(disk, [(1, 100), (1, 500)], 0)
    ingested(disk, lake, select=internal, read={"upper_bound": "log_end"})
    ingested(_group_log(disk, [(1, 100), (3, 200)], 1), lake, select=internal)

    def committed() -> list[int]:
        return [row["offset"] for row in viewed(lake, "SELECT * FROM group_offsets")]

    assert committed() == [100]
    assert retaken(lake, disk, select=internal).records == 1
    assert committed() == [200]
