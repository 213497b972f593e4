"""Answers one query over the tables of a lake. Runs in the driver, once per command."""

import io
from contextlib import redirect_stdout
from typing import Any, TextIO

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import CHECKPOINTS, REQUIRED_TABLES, TABLES, Table
from seglake.near_names import did_you_mean
from seglake.pipelines.lake_query.errors import QueryFailedError, WrongQueryError
from seglake.pipelines.lake_query.reading_only import refuse_writes
from seglake.pipelines.lake_query.views import VIEWS, topic_views, views_of
from seglake.storage.storage import Storage

_SHOWN_ROWS = 1000
_SHOWN_CHARACTERS = 120
_NOT_FOUND = "TABLE_OR_VIEW_NOT_FOUND"


def require_lake(lake: str, storage: Storage) -> str:
    """The path of the lake, once it is sure that it has every table; needs no Spark.

    Raises:
        LakeFolderError: it has not, or its storage does not let us look.
        UnsupportedUriError: no storage answers to the URI.
    """
    path = storage.locate(lake)
    LakeTables(path, storage).require()
    return path


def query(session: SparkSession, lake: str, text: str, *, as_json: bool, out: TextIO) -> None:
    """Write the answer: a table of at most 1000 rows, or as JSON one line for every row.

    Args:
        session: one that reads Delta.
        lake: path that `require_lake` gave.
        text: one statement of Spark SQL.
        as_json: binary values become base64, and null fields are kept.
        out: where to.

    Raises:
        WrongQueryError: Spark does not understand the statement, or it would write.
        QueryFailedError: the answer could not be computed.
    """
    try:
        refuse_writes(session, text)
        _register(session, lake, text)
        answer = session.sql(text)
        if as_json:
            _write_json(answer, out)
        else:
            _write_table(answer, out)
    except (AnalysisException, ParseException) as error:
        near = _near_names(session, lake, error)
        said = _first_line(error).rstrip("." if near else None)
        raise WrongQueryError(f"Spark refuses the query: {said}{near}") from error
    except (PySparkException, Py4JError) as error:
        raise QueryFailedError(f"the query failed: {_first_line(error)}") from error


def _register(session: SparkSession, lake: str, text: str) -> None:
    """Name the tables and views a statement names: opening one costs seconds, topics are many."""
    asked = text.casefold()
    everything = asked.lstrip().startswith("show")
    wants_topics = everything or "topic_" in asked
    needed = f"{asked} current_records {CHECKPOINTS.name}" if wants_topics else asked
    views = dict(VIEWS) if everything else views_of(needed)
    used = " ".join((needed, *views.values()))
    for table in TABLES:
        if everything or table.name in used:
            _frame(session, lake, table).createOrReplaceTempView(table.name)
    if wants_topics:
        named = _topic_views(session.table(CHECKPOINTS.name))
        views |= {
            name: view for name, view in named.items() if everything or name.casefold() in asked
        }
    for name, view in views.items():
        session.sql(view).createOrReplaceTempView(name)


def _topic_views(ledger: DataFrame) -> dict[str, str]:
    return topic_views(row.topic for row in ledger.select("topic").distinct().toLocalIterator())


def _near_names(session: SparkSession, lake: str, error: PySparkException) -> str:
    """What may be meant by a table or view that is not there; Spark knows few of the names."""
    if error.getCondition() != _NOT_FOUND:
        return ""
    name = (error.getMessageParameters() or {}).get("relationName", "").replace("`", "")
    tables = [table.name for table in TABLES]
    ledger = session.read.format("delta").load(f"{lake}/{CHECKPOINTS.name}")
    return did_you_mean(name, [*tables, *VIEWS, *_topic_views(ledger)])


def _frame(session: SparkSession, lake: str, table: Table) -> DataFrame:
    """A table's rows; none where the lake is from before the table."""
    path = f"{lake}/{table.name}"
    if table not in REQUIRED_TABLES:
        java: Any = session.sparkContext._jvm  # py4j has no types
        delta_table = java.io.delta.tables.DeltaTable
        if not delta_table.isDeltaTable(session._jsparkSession, path):
            return session.createDataFrame([], from_arrow_schema(table.schema))
    return session.read.format("delta").load(path)


def _write_json(answer: DataFrame, out: TextIO) -> None:
    fields = F.struct(*(F.col(f"`{name.replace('`', '``')}`") for name in answer.columns))
    lines = answer.select(F.to_json(fields, {"ignoreNullFields": "false"}).alias("line"))
    for row in lines.toLocalIterator(prefetchPartitions=True):
        out.write(f"{row.line}\n")


def _write_table(answer: DataFrame, out: TextIO) -> None:
    table = io.StringIO()
    with redirect_stdout(table):  # DataFrame.show knows no other way
        answer.show(n=_SHOWN_ROWS, truncate=_SHOWN_CHARACTERS)
    out.write(table.getvalue())
    if "...|" in table.getvalue():
        out.write(f"cells are cut at {_SHOWN_CHARACTERS} characters: --json has them whole\n\n")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
