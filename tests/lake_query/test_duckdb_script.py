"""What `register --print duckdb` and `duckdb-files` print gives anybody's DuckDB a lake."""

import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable

from seglake.cli import audit_command, register_command
from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.named import known_names
from seglake.pipelines.lake_query.views import view_names
from support.lakes import read_arrow
from support.typed_lakes import decoded, int_of, made

_DIALECTS = ["duckdb", "duckdb-files"]
_FOLDER = files("duckdb_extension_delta") / "extensions" / f"v{duckdb.__version__}"
_LOAD = f"LOAD '{_FOLDER / 'delta.duckdb_extension'}'"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of somebody else, in a file, which fetches no extension."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false"
    }
    with duckdb.connect(tmp_path / "own.db", config=settings) as connection:
        yield connection


def _script(capsys: pytest.CaptureFixture[str], lake: Path, dialect: str, *more: str) -> str:
    assert register_command.main(["--lake", str(lake), "--print", dialect, *more]) == 0
    return capsys.readouterr().out.replace("INSTALL delta;\nLOAD delta", _LOAD)


@pytest.mark.parametrize("dialect", _DIALECTS)
@pytest.mark.parametrize("name", ["lake", "it's a lake"])
def test_script_gives_any_duckdb_the_tables_and_views(
    lake_path: Path,
    tmp_path: Path,
    own: duckdb.DuckDBPyConnection,
    capsys: pytest.CaptureFixture[str],
    dialect: str,
    name: str,
) -> None:
    lake = tmp_path / name
    shutil.copytree(lake_path, lake)
    own.execute(_script(capsys, lake, dialect))
    for table in TABLES:
        rows = own.execute(f"SELECT * FROM {table.name}").to_arrow_table()
        assert rows.schema.names == table.schema.names
        assert rows.num_rows == read_arrow(lake, table.name).num_rows
    found = {row[0] for row in own.execute("SHOW TABLES").fetchall()}
    assert found >= {*view_names(), "topic_orders", "topic_my_orders_EU"}
    for view in view_names():
        own.execute(f"SELECT * FROM {view}").fetchall()
    topics = "SELECT DISTINCT topic FROM topic_my_orders_EU"
    assert own.execute(topics).fetchall() == [("my.orders-EU",)]


@pytest.mark.parametrize("dialect", _DIALECTS)
def test_database_is_a_schema(
    lake_path: Path,
    own: duckdb.DuckDBPyConnection,
    capsys: pytest.CaptureFixture[str],
    dialect: str,
) -> None:
    own.execute(_script(capsys, lake_path, dialect, "--database", "kafka"))
    own.execute("USE main")
    assert own.execute("SELECT count(*) FROM kafka.current_records").fetchall() == [(3,)]


@pytest.mark.parametrize(("dialect", "topics"), [("duckdb", 1), ("duckdb-files", 2)])
def test_rows_are_those_of_now_or_of_the_print(
    lake_path: Path,
    tmp_path: Path,
    own: duckdb.DuckDBPyConnection,
    capsys: pytest.CaptureFixture[str],
    dialect: str,
    topics: int,
) -> None:
    shutil.copytree(lake_path, tmp_path / "lake")
    own.execute(_script(capsys, tmp_path / "lake", dialect))
    DeltaTable(tmp_path / "lake" / "records").delete("topic = 'orders'")
    assert own.execute("SELECT count(DISTINCT topic) FROM records").fetchall() == [(topics,)]


def test_path_that_duckdb_would_take_for_a_pattern_is_refused(
    lake_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(lake_path, tmp_path / "a[b]*")
    given = ["--lake", str(tmp_path / "a[b]*"), "--print", "duckdb-files"]
    assert register_command.main(given) == 2
    assert "DuckDB would treat its path as a pattern" in capsys.readouterr().err


def test_lake_on_hdfs_is_refused(
    lake_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seglake.pipelines.lake_query.asked_lake.is_on_hdfs", lambda _: True)
    for dialect in _DIALECTS:
        assert register_command.main(["--lake", str(lake_path), "--print", dialect]) == 2
        assert "a lake on HDFS: use seglake sql" in capsys.readouterr().err


@pytest.mark.parametrize("dialect", _DIALECTS)
def test_script_gives_any_duckdb_the_typed_tables(
    tmp_path: Path,
    own: duckdb.DuckDBPyConnection,
    capsys: pytest.CaptureFixture[str],
    dialect: str,
) -> None:
    lake = made(tmp_path, int_of(1), b"bad", None)
    decoded(lake, "t")
    own.execute(_script(capsys, lake, dialect))
    query = "SELECT value, _tombstone FROM typed_t ORDER BY _offset"
    assert own.execute(query).fetchall() == [(1, False), (None, True)]
    query = "SELECT reason FROM current_value_rejects"
    assert own.execute(query).fetchall() == [("no_frame",)]
    shown = {name for (name,) in own.execute("SHOW TABLES").fetchall()}
    assert shown == {*known_names(), "all_typed_t", "typed_t", "topic__schemas", "topic_t"}
    assert audit_command.main(["--print-sql", "duckdb-typed"]) == 0
    proof = capsys.readouterr().out
    assert own.execute(proof).fetchall() == []
    DeltaTable(str(lake / "value_rejects")).delete()
    own.execute(_script(capsys, lake, dialect))
    [(problem, log, *_)] = own.execute(proof).fetchall()[:1]
    assert (problem, log) == ("typed_rows", "t-0 of c")
