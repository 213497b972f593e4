"""Answers statements in DuckDB, in this process. Effect: reads the lake.

DuckDB sees the data files that delta-rs finds in a table's log, and nothing else: it may neither
write a file nor read another one, nor fetch an extension.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Self, TextIO

import duckdb
import pyarrow as pa

from seglake.lake.delta_tables import LakeTables
from seglake.lake.duckdb_sql import (
    SYNTAX_TREE,
    TEXT_OF_TREE,
    settings,
    view,
)
from seglake.lake.duckdb_tables import DuckDBTables
from seglake.lake.errors import SchemaError, TableRefusedError
from seglake.lake.tables import REQUIRED_TABLES, Table
from seglake.pipelines.lake_query.answers import Answer, OutputFormat, write
from seglake.pipelines.lake_query.duckdb_text import (
    column_name,
    in_duckdb,
    missing_table,
    unescaped,
)
from seglake.pipelines.lake_query.duckdb_tree import as_in_spark
from seglake.pipelines.lake_query.errors import WrongQueryError, query_failed, with_hint
from seglake.pipelines.lake_query.named import no_such_table, tables_in, views_in
from seglake.pipelines.lake_query.statements import refused, tokens
from seglake.pipelines.lake_query.views import Dialect

_FUNCTIONS, _MEANINGS = "spark_functions.sql", "spark_meanings.sql"
_BATCH_ROWS = 10_000
# A pivot is two statements to DuckDB: it makes a type of the names first, in its memory.
_READING = frozenset({"SELECT", "EXPLAIN", "CREATE"})
_INTERRUPTED = "nterrupted"  # DuckDB's client says it in several ways, with Ctrl-C for the cause
_REFUSALS = (
    duckdb.ParserException,
    duckdb.SyntaxException,
    duckdb.CatalogException,
    duckdb.BinderException,
    duckdb.PermissionException,
    duckdb.NotImplementedException,
)


class DuckDBQueries:
    """A DuckDB over one lake; each statement sees the newest state of its tables.

    Args:
        lake: a lake that has all tables.
        spill_folder: folder for results that exceed the memory.
        speaks_spark: True gives SQL that both engines answer differently Spark's meaning, False
            DuckDB's; casts of bytes to text always have Spark's.

    Attributes:
        survives_interrupts: another statement may be asked after Ctrl-C.
    """

    survives_interrupts = True

    def __init__(self, lake: LakeTables, *, spill_folder: str, speaks_spark: bool = True) -> None:
        self._lake = lake
        self._speaks_spark = speaks_spark
        self._connection = duckdb.connect(config={"temp_directory": spill_folder})
        self._tables = DuckDBTables(self._connection, lake)
        for each in (*_macros(speaks_spark=speaks_spark), *settings(self._tables.folder)):
            self._connection.execute(each)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._connection.close()

    def write(self, statement: str, form: OutputFormat, out: TextIO) -> None:
        """Write the answer to a statement; raises as `answer`."""
        write(self.answer(statement), form, out)

    def answer(self, statement: str) -> Answer:
        """Begin to answer a statement; rows come as they are read.

        Raises:
            WrongQueryError: DuckDB does not understand it, or it would write.
            QueryFailedError: the answer could not be computed.
        """
        text = in_duckdb(unescaped(statement) if self._speaks_spark else statement)
        with self._explained(statement):
            self._require_query(text)
            parsed = json.loads(self._said(SYNTAX_TREE, text))
            self._register(statement)
            spelled = as_in_spark(parsed, replaces=self._speaks_spark)
            if spelled != parsed:
                text = self._said(TEXT_OF_TREE, json.dumps(spelled))
            reader = self._connection.execute(text).to_arrow_reader(_BATCH_ROWS)
        schema = pa.schema([_shown(field) for field in reader.schema])
        return Answer(schema, self._batches(reader, schema, statement))

    def _require_query(self, text: str) -> None:
        kinds = [found.type.name for found in self._connection.extract_statements(text)]
        strange = [kind for kind in kinds if kind not in _READING]
        if strange or kinds[-1] == "CREATE":
            raise refused(strange[0] if strange else kinds[-1])

    def _said(self, query: str, parameter: str) -> str:
        """Return the one value that a query has for its parameter."""
        ((value,),) = self._connection.execute(query, [parameter]).fetchall()
        return str(value)

    def _register(self, statement: str) -> None:
        """Name what a statement names, as it is now.

        In the reverse of the order in which tables are committed: then what one of them speaks of
        is in the others, if a commit comes between.
        """
        for table in reversed(tables_in(statement, Dialect.DUCKDB)):
            self._tables.name(table, self._paths(table), self._lake.topics)
        for name, query in views_in(statement, self._lake.topics, Dialect.DUCKDB).items():
            self._connection.execute(view(name, query))

    def _paths(self, table: Table) -> list[str]:
        """Return a table's data files; empty if an older lake lacks the table."""
        if table not in REQUIRED_TABLES and not self._lake.has(table):
            return []
        try:
            return self._lake.file_paths(table)
        except (SchemaError, TableRefusedError) as error:
            raise WrongQueryError(f"{error}; --engine spark reads the table as it is") from error

    def _batches(
        self, reader: pa.RecordBatchReader, schema: pa.Schema, statement: str
    ) -> Iterator[pa.RecordBatch]:
        while True:
            with self._explained(statement):
                batch = next(reader, None)
            if batch is None:
                return
            yield batch.rename_columns(schema.names).cast(schema)

    @contextmanager
    def _explained(self, statement: str) -> Iterator[None]:
        """Turn DuckDB's errors into ours."""
        try:
            yield
        except (duckdb.InterruptException, RuntimeError, KeyboardInterrupt) as error:
            if not isinstance(error, KeyboardInterrupt) and _INTERRUPTED not in str(error):
                raise
            self._connection.interrupt()  # else the next statement waits for what still runs
            raise KeyboardInterrupt from None
        except _REFUSALS as error:
            raise self._refusal(error, statement) from error
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise query_failed(_paragraph(error)) from error

    def _refusal(self, error: duckdb.Error, statement: str) -> WrongQueryError:
        table = missing_table(str(error))
        if table is not None:
            return no_such_table(table, self._lake.topics())
        reason = with_hint(_paragraph(error).rstrip("."))
        return WrongQueryError(f"DuckDB refuses the query: {reason}{_advice(error, statement)}")


def _macros(*, speaks_spark: bool) -> list[str]:
    """Return the statements that give DuckDB the functions of Spark."""
    names = (_FUNCTIONS, _MEANINGS) if speaks_spark else (_FUNCTIONS,)
    return [files(__package__).joinpath(name).read_text("utf-8") for name in names]


def _shown(field: "pa.Field[Any]") -> "pa.Field[Any]":
    """Return a column under Spark's name; its times are UTC, like the session's."""
    kind = field.type
    if pa.types.is_timestamp(kind) and kind.tz is None:
        kind = pa.timestamp(kind.unit, "UTC")
    return pa.field(column_name(field.name), kind)


def _advice(error: duckdb.Error, statement: str) -> str:
    """Return advice to follow a message of DuckDB's."""
    quoted = [token.text for token in tokens(statement) if token.kind == "quoted"]
    if any(f"column {text} not found" in str(error) for text in quoted):
        return "; a text is in single quotes: in double quotes it is a name"
    is_foreign = isinstance(
        error, duckdb.ParserException | duckdb.SyntaxException | duckdb.CatalogException
    )
    return "; if it is Spark's SQL, use --engine spark" if is_foreign else ""


def _paragraph(error: Exception) -> str:
    """Return the message without the lines that point into the statement."""
    lines = str(error).partition("\nLINE ")[0].splitlines()
    return " ".join(line.strip() for line in lines if line.strip())
