"""Answers statements in Spark. Runs in the driver. Reads the lake."""

from collections.abc import Iterator
from typing import Any, TextIO

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType, DataType, StringType

from seglake.lake.tables import CHECKPOINTS, REQUIRED_TABLES, Table
from seglake.pipelines.lake_query.answers import (
    SHOWN_ROWS,
    Answer,
    OutputFormat,
    single_names,
    write,
)
from seglake.pipelines.lake_query.errors import WrongQueryError, first_line, query_failed
from seglake.pipelines.lake_query.lake_names import LakeNames, LatestTables, TypedTables
from seglake.pipelines.lake_query.named import no_such_table, tables_in, views_in
from seglake.pipelines.lake_query.statements import refused
from seglake.pipelines.lake_query.views import Dialect
from seglake.spark_features import arrow_table, condition_of

_READING_COMMANDS = ("Show", "Describe", "Explain")
_COMMAND = "org.apache.spark.sql.catalyst.plans.logical.Command"
_NOT_FOUND = "TABLE_OR_VIEW_NOT_FOUND"
# `value_texts` writes the same forms.
_JSON = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}


class SparkQueries:
    """A Spark session over one lake.

    Attributes:
        survives_interrupts: False, since Ctrl-C may interrupt a call to the JVM halfway.
    """

    survives_interrupts = False

    def __init__(
        self,
        session: SparkSession,
        lake: str,
        typed: TypedTables = tuple,
        latest: LatestTables = tuple,
    ) -> None:
        """Store the session.

        Args:
            session: a session that reads Delta; its owner stops it.
            lake: path of the lake, as a URI of Hadoop.
            typed: returns the lake's typed tables; by default the lake has none.
            latest: returns the lake's tables of latest state; by default it has none.
        """
        self._session = session
        self._lake = lake
        self._typed = typed
        self._latest = latest

    def answer(self, statement: str) -> Answer:
        """Return the complete answer, in the driver's memory.

        Args:
            statement: one query, without a semicolon.

        Raises:
            WrongQueryError: Spark does not understand the statement, or it would write.
            QueryFailedError: the answer could not be computed.
        """
        try:
            return _collected(self._frame(statement))
        except (PySparkException, Py4JError) as error:
            raise self._explained(error) from error

    def write(self, statement: str, form: OutputFormat, out: TextIO) -> None:
        """Write the answer to a statement; raise the errors of `answer`.

        JSON is written while Spark computes the answer, one partition after the other.
        """
        try:
            frame = self._frame(statement)
            if form is OutputFormat.JSON:
                _write_json(frame, out)
                return
            shown = frame.limit(SHOWN_ROWS + 1) if form is OutputFormat.TABLE else frame
            answer = _collected(shown)
        except (PySparkException, Py4JError) as error:
            raise self._explained(error) from error
        write(answer, form, out)

    def _frame(self, statement: str) -> DataFrame:
        _refuse_writes(self._session, statement)
        self._register(statement)
        return _with_sound_texts(self._session.sql(statement))

    def _register(self, statement: str) -> None:
        """Define the tables and views that a statement names, in their newest state.

        Tables are opened in the reverse order of commits. So rows to which an earlier opened table
        refers are never missing, even if a commit happens meanwhile.
        """
        names = self._names()
        for name, table in reversed(tables_in(statement, names, Dialect.SPARK).items()):
            self._table(table).createOrReplaceTempView(name)
        for name, view in views_in(statement, names, Dialect.SPARK).items():
            self._session.sql(view).createOrReplaceTempView(name)

    def _names(self) -> LakeNames:
        return LakeNames(self._topics, self._typed, self._latest)

    def _topics(self) -> list[str]:
        ledger = self._table(CHECKPOINTS).select("topic").distinct()
        return [row.topic for row in ledger.toLocalIterator()]

    def _table(self, table: Table) -> DataFrame:
        """Return a table's rows at its newest version; none if an older lake lacks the table.

        The version is fixed, because Spark would otherwise read the newest rows at the time of the
        answer.
        """
        path = f"{self._lake}/{table.name}"
        version = self._version(path)
        if version < 0 and table not in REQUIRED_TABLES:
            return self._session.createDataFrame([], from_arrow_schema(table.schema))
        return self._session.read.format("delta").option("versionAsOf", version).load(path)

    def _version(self, path: str) -> int:
        """Return the newest version of a table; negative if there is no table."""
        java: Any = self._session.sparkContext._jvm  # py4j has no types
        log = java.org.apache.spark.sql.delta.DeltaLog.forTable(self._session._jsparkSession, path)
        nothing = getattr(getattr(java.scala, "None$"), "MODULE$")
        return int(log.update(False, nothing, nothing).version())

    def _explained(self, error: PySparkException | Py4JError) -> Exception:
        if not isinstance(error, AnalysisException | ParseException):
            return query_failed(_reason(error))
        if condition_of(error) == _NOT_FOUND:
            name = (error.getMessageParameters() or {}).get("relationName", "")
            return no_such_table(name.replace("`", ""), self._names())
        return WrongQueryError(f"Spark refuses the query: {first_line(error)}")


def _refuse_writes(session: SparkSession, text: str) -> None:
    """Raise unless a statement only reads: other writers would break the tables' sums.

    The plan of Spark's own parser decides; SELECT, SHOW, DESCRIBE and EXPLAIN are allowed.

    Raises:
        WrongQueryError: the statement would write.
        ParseException: Spark does not understand it.
    """
    java: Any = session.sparkContext._jvm  # py4j has no types
    parser = session._jsparkSession.sessionState().sqlParser()
    loader = java.java.lang.Thread.currentThread().getContextClassLoader()
    command = java.java.lang.Class.forName(_COMMAND, True, loader)
    for node in _nodes(parser.parsePlan(text)):
        name = str(node.getClass().getSimpleName())
        writes = name.startswith("Insert") or command.isInstance(node)
        if writes and not name.startswith(_READING_COMMANDS):
            raise refused(name)


def _nodes(plan: JavaObject) -> Iterator[JavaObject]:
    """Yield a query plan of Spark, and all plans below it."""
    yield plan
    children = plan.children()
    for index in range(children.size()):
        yield from _nodes(children.apply(index))


def _collected(frame: DataFrame) -> Answer:
    rows = arrow_table(frame)
    return Answer(rows.schema, rows.to_batches())


def _with_sound_texts(frame: DataFrame) -> DataFrame:
    """Return the frame with null instead of each text that is not UTF-8.

    Casts of bytes produce such texts; later steps would fail on them or change them.
    """
    numbered = _numbered(frame)
    columns = (_sound(F.col(field.name), field.dataType) for field in numbered.schema)
    return numbered.select(*columns).toDF(*frame.columns)


def _sound(column: Column, kind: DataType) -> Column:
    if isinstance(kind, StringType):
        return _if_sound(column)
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, StringType):
        return F.transform(column, _if_sound)
    return column


def _if_sound(text: Column) -> Column:
    """Return a text, or null if it is not UTF-8.

    Otherwise Java would replace the invalid bytes.
    """
    return F.when(F.encode(text, "UTF-8") == text.cast("binary"), text)


def _numbered(frame: DataFrame) -> DataFrame:
    """Return the frame with numbers as column names, since column names may be repeated."""
    return frame.toDF(*map(str, range(len(frame.columns))))


def _write_json(answer: DataFrame, out: TextIO) -> None:
    numbered, names = _numbered(answer), single_names(answer.columns)
    fields = (F.col(each).alias(name) for each, name in zip(numbered.columns, names, strict=True))
    lines = numbered.select(F.to_json(F.struct(*fields), _JSON).alias("line"))
    for row in lines.toLocalIterator(prefetchPartitions=True):
        out.write(f"{row.line}\n")


def _reason(error: PySparkException | Py4JError) -> str:
    """Return the root cause of an error; an exception in a task causes several others."""
    cause = error.java_exception if isinstance(error, Py4JJavaError) else None
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    return first_line(error) if cause is None else str(cause.toString()).splitlines()[0]
