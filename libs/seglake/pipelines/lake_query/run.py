"""Answers one query over the tables of a lake. Runs in the driver, once per command."""

import io
from contextlib import redirect_stdout
from typing import TextIO

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.errors import QueryFailedError, WrongQueryError
from seglake.pipelines.lake_query.reading_only import refuse_writes
from seglake.pipelines.lake_query.views import VIEWS, topic_views, views_of
from seglake.storage.storage import Storage

_SHOWN_ROWS = 1000
_SHOWN_CHARACTERS = 120


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
        raise WrongQueryError(f"Spark refuses the query: {_first_line(error)}") from error
    except (PySparkException, Py4JError) as error:
        raise QueryFailedError(f"the query failed: {_first_line(error)}") from error


def _register(session: SparkSession, lake: str, text: str) -> None:
    """Name the tables and views a statement names: opening one costs seconds, topics are many."""
    asked = text.casefold()
    everything = asked.lstrip().startswith("show")
    views = dict(VIEWS) if everything else views_of(asked)
    wants_topics = everything or "topic_" in asked
    used = " ".join((asked, *views.values(), "records checkpoints" if wants_topics else ""))
    for table in TABLES:
        if everything or table.name in used:
            frame = session.read.format("delta").load(f"{lake}/{table.name}")
            frame.createOrReplaceTempView(table.name)
    if wants_topics:
        topics = session.table("checkpoints").select("topic").distinct().toLocalIterator()
        named = topic_views(row.topic for row in topics)
        views |= {
            name: view for name, view in named.items() if everything or name.casefold() in asked
        }
    for name, view in views.items():
        session.sql(view).createOrReplaceTempView(name)


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
