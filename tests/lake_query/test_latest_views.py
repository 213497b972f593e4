"""`seglake sql` has a view for each table of latest state, without deleted keys."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from seglake.lake.delta_tables import LakeTables
from seglake.pipelines.lake_query.duckdb_queries import DuckDBQueries
from seglake.pipelines.lake_query.duckdb_script import file_statements
from seglake.pipelines.lake_query.errors import WrongQueryError
from seglake.pipelines.lake_query.lake_names import (
    LakeNames,
    latest_tables_of,
    typed_tables_of,
)
from seglake.pipelines.lake_query.spark_queries import SparkQueries
from seglake.storage.local_storage import LocalStorage
from support.keyed_logs import write
from support.lakes import ingested
from support.latest_state import updated

Rows = list[tuple[object, ...]]
Asked = Callable[[Path, str], Rows]
_KEYS = "SELECT CAST(key AS STRING) AS k, CAST(value AS STRING) AS v FROM {} ORDER BY k"


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def asked(request: pytest.FixtureRequest) -> Asked:
    """Asks a lake in DuckDB, or in Spark."""

    def answer(lake: Path, query: str) -> Rows:
        tables = LakeTables(str(lake), LocalStorage())
        if request.param == "spark":
            session = request.getfixturevalue("spark_session")
            own_tables = typed_tables_of(tables), latest_tables_of(tables)
            found = SparkQueries(session, str(lake), *own_tables).answer(query)
            return [tuple(row.values()) for each in found.batches for row in each.to_pylist()]
        with DuckDBQueries(tables, spill_folder="") as queries:
            batches = queries.answer(query).batches
            return [tuple(row.values()) for each in batches for row in each.to_pylist()]

    return answer


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake whose topic has a key that was deleted."""
    log = ("a", b"1"), ("b", b"1"), ("a", b"2"), ("b", None)
    ingested(write(tmp_path / "disk", *log), tmp_path / "lake")
    updated(tmp_path / "lake", "orders")
    return tmp_path / "lake"


def test_a_view_has_the_keys_that_are_there_and_the_table_has_the_deleted_ones_too(
    lake: Path, asked: Asked
) -> None:
    assert asked(lake, _KEYS.format("latest_orders")) == [("a", "2")]
    assert asked(lake, _KEYS.format("all_latest_orders")) == [("a", "2"), ("b", None)]
    query = "SELECT count(*) AS n FROM latest_orders JOIN topic_orders USING (partition, offset)"
    assert asked(lake, query) == [(1,)]


def test_a_topic_without_a_table_has_no_such_view(lake: Path, asked: Asked) -> None:
    with pytest.raises(WrongQueryError, match="no table or view latest_order; did you mean"):
        asked(lake, "SELECT * FROM latest_order")


def test_a_view_of_all_topics_keeps_its_name(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for topic in ("records", "a.b", "a_b"):
        ingested(write(tmp_path / topic, ("a", b"1"), topic=topic, topic_id=None), lake)
    updated(lake, "*")
    tables = LakeTables(str(lake), LocalStorage())
    names = LakeNames(tables.topics, latest=latest_tables_of(tables))
    assert sorted(names.latest) == sorted({*names.latest} - {"latest_records", "latest_a_b"})
    assert {each.topic for each in names.latest.values()} == {"records", "a.b", "a_b"}
    with DuckDBQueries(tables, spill_folder="") as queries:
        [batch] = queries.answer("SELECT count(*) AS n FROM latest_records").batches
        assert batch.to_pylist() == [{"n": 3}]
        with pytest.raises(WrongQueryError, match=r"latest_a_b could be the topic a\.b or a_b"):
            queries.answer("SELECT * FROM latest_a_b")


def test_a_script_for_duckdb_has_the_views(lake: Path) -> None:
    tables = LakeTables(str(lake), LocalStorage())
    names = LakeNames(tables.topics, latest=latest_tables_of(tables), has_values=False)
    with duckdb.connect() as connection:
        for statement in file_statements(tables, None, names):
            connection.execute(statement)
        count = "SELECT (SELECT count(*) FROM latest_orders), count(*) FROM all_latest_orders"
        assert connection.execute(count).fetchall() == [(1, 2)]
