"""DuckDB is asked first, and Spark where only it can."""

import io
from typing import TextIO

import pyarrow as pa
import pytest

from seglake.pipelines.lake_query.answers import Answer, OutputFormat
from seglake.pipelines.lake_query.engine_choice import LakeQueries
from seglake.pipelines.lake_query.errors import NotForDuckDBError


class _Engine:
    """Answers with its name, or refuses."""

    def __init__(self, name: str, refusal: BaseException | None = None) -> None:
        self._rows = pa.table({"by": [name]})
        self._refusal = refusal

    def answer(self, statement: str) -> Answer:
        if self._refusal is not None:
            raise self._refusal
        return Answer(self._rows.schema, self._rows.to_batches())

    def write(self, statement: str, form: OutputFormat, out: TextIO) -> None:
        out.write(f"{next(iter(self.answer(statement).batches)).to_pylist()}")


def _asked(queries: LakeQueries) -> str:
    out = io.StringIO()
    queries.write("SELECT 1", OutputFormat.CSV, out)
    (row,) = pa.Table.from_batches(queries.answer("SELECT 1").batches).to_pylist()
    assert row["by"] in out.getvalue()
    return str(row["by"])


def test_spark_is_not_started_where_duckdb_answers() -> None:
    notes: list[str] = []
    assert _asked(LakeQueries(_Engine("duckdb"), None, notes.append)) == "duckdb"
    assert notes == []


def test_spark_answers_what_only_it_can_and_the_reason_is_noted() -> None:
    notes: list[str] = []
    duckdb = _Engine("duckdb", NotForDuckDBError("it is odd"))
    assert _asked(LakeQueries(duckdb, lambda: _Engine("spark"), notes.append)) == "spark"
    assert set(notes) == {"Spark answers: it is odd"}
    with pytest.raises(NotForDuckDBError):
        _asked(LakeQueries(duckdb, None, notes.append))


def test_nothing_more_is_asked_after_ctrl_c_met_spark() -> None:
    interrupted = _Engine("any", KeyboardInterrupt())
    for duckdb, spark in ((interrupted, None), (None, lambda: interrupted)):
        queries = LakeQueries(duckdb, spark, lambda _: None)
        with pytest.raises(KeyboardInterrupt):
            queries.write("SELECT 1", OutputFormat.TABLE, io.StringIO())
        assert queries.may_go_on is (duckdb is not None)
