"""What docs/query.md shows for Spark runs as it stands, and gives the right answers."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.lakes import ingested
from support.page_readers import by_pyspark, by_views, run_commands
from support.query_answers import Answers, Likened, expected, likened
from support.query_page import LAKE, PAGE, blocks, in_checkout
from support.servers.thrift_server import answer_of, thrift_server

pytestmark = pytest.mark.spark

_NUMBERS = {"partition", "next_offset", "offset", "position", "length_bytes", "broker_id"}
_NUMBERS |= {"covered", "records", "in_batches", "left_above"}
_NUMBERS |= {"compacted", "deleted", "marker", "deleted_or_lost", "remote"}
_NUMBERS |= {"undecided", "quarantined", "missing"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    lake = tmp_path_factory.mktemp("page") / "lake"
    ingested(PAGE.parents[1] / "samples" / "broker-0", lake, isolation="read_committed")
    with in_checkout(tmp_path_factory.mktemp("checkout"), lake) as folder:
        yield folder


@pytest.fixture
def no_names(spark_session: SparkSession) -> Iterator[None]:
    """A session that knows no tables and views, before the test and after it."""
    _forget_all(spark_session)
    yield
    _forget_all(spark_session)


def _forget_all(session: SparkSession) -> None:
    for view in session.sql("SHOW VIEWS").collect():
        if view.isTemporary:
            session.catalog.dropTempView(view.viewName)
        else:
            session.sql(f"DROP VIEW {view.viewName}")
    for table in session.sql("SHOW TABLES").collect():
        session.sql(f"DROP TABLE {table.tableName}")


def _check(answers: Answers) -> None:
    for question, answer, truth in zip(Answers._fields, answers, expected(), strict=True):
        assert answer == truth, question


@pytest.mark.matrix  # of the same questions on a lake with more to tell, see test_readers_agree
def test_seglake_sql_answers_what_is_so(spark_session: SparkSession, checkout: Path) -> None:
    _check(by_views(spark_session, str(checkout / LAKE)))


@pytest.mark.matrix  # DuckDB answers the same questions, and test_readers_agree asks Spark's views
@pytest.mark.usefixtures("no_names")
def test_pyspark_answers_what_is_so(checkout: Path) -> None:
    _check(by_pyspark())
    lines = (checkout / "build" / "records.jsonl").read_text("utf-8").splitlines()
    records = expected().records
    filled = [dict.fromkeys(records[0]) | json.loads(line) for line in lines]
    assert likened(filled) == records


@pytest.mark.own_spark
@pytest.mark.timeout(600)
def test_pyspark_finds_its_jars_when_the_block_is_pasted(checkout: Path) -> None:
    run_commands("PySpark")
    (block,) = blocks("PySpark", "python")
    assert block.count('artitions", 4)') == 2
    block = block.replace('artitions", 4)', 'artitions", 1)')  # no query is cut into four
    pasted = [sys.executable, "-c", f"{block}\nprint('rows', latest.count())"]
    done = subprocess.run(pasted, capture_output=True, text=True, check=False, cwd=checkout)
    assert f"rows {len(expected().latest)}\n" in done.stdout, done.stderr


@pytest.mark.own_spark
@pytest.mark.timeout(900)  # a JVM for the server and one for each of three commands
def test_beeline_answers_what_is_so_and_leaves_no_files(checkout: Path, tmp_path: Path) -> None:
    start, ask, as_json = blocks("JDBC", "bash")
    before = {path.name for path in checkout.iterdir()}
    with thrift_server(start, folder=checkout, log=tmp_path / "thrift.log") as port:
        printed = answer_of(ask, port=port, start=start, folder=checkout)
        lines = answer_of(as_json, port=port, start=start, folder=checkout).splitlines()
    _check(Answers(*(likened(rows) for rows in _tables(printed))))
    texts = _texts_only()
    filled = [dict.fromkeys(texts[0]) | json.loads(line) for line in lines]
    assert likened(filled) == texts
    assert {path.name for path in checkout.iterdir()} == before


def _tables(printed: str) -> list[Likened]:
    """The five answers, of CSV that beeline prints one behind the other."""
    heads = [",".join(answer[0]) for answer in expected()]
    starts = [printed.index(f"{head}\n") for head in heads]
    pieces = [printed[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    return [
        [_typed(row) for row in csv.DictReader(io.StringIO(piece, newline=""))] for piece in pieces
    ]


def _typed(row: dict[str, str]) -> dict[str, object]:
    return {
        name: None if text == "NULL" else int(text) if name in _NUMBERS else text
        for name, text in row.items()
    }


def _texts_only() -> Likened:
    names = ("partition", "offset", "timestamp", "key_text", "value_text")
    return [{name: row[name] for name in names} for row in expected().records]
