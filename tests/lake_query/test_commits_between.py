"""A run commits while a statement opens its tables, one after the other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seglake.lake.delta_tables import LakeTables
from seglake.pipelines.lake_query.answers import Answer
from seglake.pipelines.lake_query.duckdb_queries import DuckDBQueries
from seglake.pipelines.lake_query.spark_queries import SparkQueries
from seglake.storage.local_storage import LocalStorage
from support.lakes import ingested
from support.made_logs import make_log_dir

Asked = Callable[[str], Answer]

_QUERY = (
    "SELECT (SELECT sum(records) FROM checkpoints) AS told, (SELECT count(*) FROM records) AS found"
)


def _runs_after(monkeypatch: pytest.MonkeyPatch, opening: Any, opened: int, lake: Path) -> None:
    """Commit more records once so many tables have been opened.

    Args:
        opening: the class and the name of its method that opens a table.
    """
    of, name = opening
    opens = getattr(of, name)
    calls = []

    def opens_and_commits(self: object, *arguments: object) -> object:
        found = opens(self, *arguments)
        calls.append(name)
        if len(calls) == opened:
            monkeypatch.setattr(of, name, opens)
            ingested(make_log_dir(lake.parent / "disk", {("orders", 0): [0, 20, 40]}), lake)
        return found

    monkeypatch.setattr(of, name, opens_and_commits)


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize(("opened", "found"), [(1, 40), (2, 20)])
def test_what_the_ledger_tells_of_is_in_the_tables_and_stays_so(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    engine: str,
    opened: int,
    found: int,
) -> None:
    lake = tmp_path / "lake"
    ingested(make_log_dir(tmp_path / "disk", {("orders", 0): [0, 20]}), lake)
    if engine == "spark":
        asked: Asked = SparkQueries(request.getfixturevalue("spark_session"), str(lake)).answer
        _runs_after(monkeypatch, (SparkQueries, "_version"), opened, lake)
    else:
        tables = LakeTables(str(lake), LocalStorage())
        queries = DuckDBQueries(tables, spill_folder="")
        asked = queries.answer
        _runs_after(monkeypatch, (LakeTables, "file_paths"), opened, lake)
    rows = [row for batch in asked(_QUERY).batches for row in batch.to_pylist()]
    assert [(int(row["told"]), row["found"]) for row in rows] == [(20, found)]
