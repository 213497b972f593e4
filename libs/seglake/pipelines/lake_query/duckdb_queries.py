"""Answers statements in DuckDB, in this process. Reads the lake.

DuckDB can only read the data files that delta-rs finds in a table's log. It can neither read nor
write other files, and cannot fetch extensions.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Self, TextIO

import duckdb
import pyarrow as pa

from seglake.lake.delta_tables import LakeTables
from seglake.lake.duckdb_sql import SYNTAX_TREE, TEXT_OF_TREE, settings, view
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
from seglake.pipelines.lake_query.lake_names import (
    LakeNames,
    latest_tables_of,
    typed_tables_of,
)
from seglake.pipelines.lake_query.named import no_such_table, tables_in, views_in
from seglake.pipelines.lake_query.statements import refused, tokens
from seglake.pipelines.lake_query.views import Dialect

_FUNCTIONS, _MEANINGS = "spark_functions.sql", "spark_meanings.sql"
_BATCH_ROWS = 10_000
# Kinds of statements that only read. CREATE is included: DuckDB runs PIVOT as two statements, and
# the first one creates a type.
_READING = frozenset({"SELECT", "EXPLAIN", "CREATE"})
_INTERRUPTED = "nterrupted"  # part of each message of DuckDB after Ctrl-C
_REFUSALS = (
    duckdb.ParserException,
    duckdb.SyntaxException,
    duckdb.CatalogException,
    duckdb.BinderException,
    duckdb.PermissionException,
    duckdb.NotImplementedException,
)


class DuckDBQueries:
    """DuckDB over one lake; each statement reads the newest state of the tables.

    Attributes:
        survives_interrupts: True, because DuckDB answers further statements after Ctrl-C.
    """

    survives_interrupts = True

    def __init__(self, lake: LakeTables, *, spill_folder: str, speaks_spark: bool = True) -> None:
        """Start DuckDB; it ends with the `with` block.

        Args:
            lake: a lake that has all mandatory tables.
            spill_folder: folder for results that exceed the memory; DuckDB creates and removes it.
            speaks_spark: whether to return Spark's answer if Spark and DuckDB answer the same SQL
                differently. Casts of bytes to text always follow Spark.
        """
        self._lake = lake
        self._speaks_spark = speaks_spark
        self._connection = duckdb.connect(config={"temp_directory": spill_folder})
        self._tables = DuckDBTables(self._connection, lake)
        for each in (*_macros(speaks_spark=speaks_spark), *settings(self._tables.folder)):
            self._connection.execute(each)

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the connection."""
        self._connection.close()

    def write(self, statement: str, form: OutputFormat, out: TextIO) -> None:
        """Write the answer to a statement; raise the errors of `answer`."""
        write(self.answer(statement), form, out)

    def answer(self, statement: str) -> Answer:
        """Begin to answer a statement; its rows are computed while they are read.

        Args:
            statement: one query, without a semicolon.

        Raises:
            WrongQueryError: DuckDB does not understand the statement, or it would write.
            QueryFailedError: the answer could not be computed.
        """
        text = in_duckdb(unescaped(statement) if self._speaks_spark else statement)
        with self._explained(statement):
            self._require_query(text)
            parsed = json.loads(self._single_answer(SYNTAX_TREE, text))
            self._register(statement)
            spelled = as_in_spark(parsed, replaces=self._speaks_spark)
            if spelled != parsed:
                text = self._single_answer(TEXT_OF_TREE, json.dumps(spelled))
            reader = self._connection.execute(text).to_arrow_reader(_BATCH_ROWS)
        schema = pa.schema([_shown(field) for field in reader.schema])
        return Answer(schema, self._batches(reader, schema, statement))

    def _require_query(self, text: str) -> None:
        kinds = [found.type.name for found in self._connection.extract_statements(text)]
        strange = [kind for kind in kinds if kind not in _READING]
        if strange or kinds[-1] == "CREATE":
            raise refused(strange[0] if strange else kinds[-1])

    def _single_answer(self, query: str, parameter: str) -> str:
        """Return the only value of the answer to a query with one parameter."""
        ((value,),) = self._connection.execute(query, [parameter]).fetchall()
        return str(value)

    def _register(self, statement: str) -> None:
        """Define the tables and views that a statement names, in their newest state.

        Tables are opened in the reverse order of commits. So rows to which an earlier opened table
        refers are never missing, even if a commit happens meanwhile.
        """
        names = self._names()
        for name, table in reversed(tables_in(statement, names, Dialect.DUCKDB).items()):
            self._tables.name(table, self._paths(table), self._lake.topics, name)
        for name, query in views_in(statement, names, Dialect.DUCKDB).items():
            self._connection.execute(view(name, query))

    def _names(self) -> LakeNames:
        return LakeNames(
            self._lake.topics, typed_tables_of(self._lake), latest_tables_of(self._lake)
        )

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
        """Turn DuckDB's errors in the block into seglake's errors."""
        try:
            yield
        except (duckdb.InterruptException, RuntimeError, KeyboardInterrupt) as error:
            if not isinstance(error, KeyboardInterrupt) and _INTERRUPTED not in str(error):
                raise
            self._connection.interrupt()  # otherwise the next statement would wait for this one
            raise KeyboardInterrupt from None
        except _REFUSALS as error:
            raise self._refusal(error, statement) from error
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise query_failed(_paragraph(error)) from error

    def _refusal(self, error: duckdb.Error, statement: str) -> WrongQueryError:
        table = missing_table(str(error))
        if table is not None:
            return no_such_table(table, self._names())
        reason = with_hint(_paragraph(error).rstrip("."))
        return WrongQueryError(f"DuckDB refuses the query: {reason}{_advice(error, statement)}")


def _macros(*, speaks_spark: bool) -> list[str]:
    """Return the statements that define Spark's functions in DuckDB."""
    names = (_FUNCTIONS, _MEANINGS) if speaks_spark else (_FUNCTIONS,)
    return [files(__package__).joinpath(name).read_text("utf-8") for name in names]


def _shown(field: "pa.Field[Any]") -> "pa.Field[Any]":
    """Return a column of the answer in Spark's form: its name, and times in UTC."""
    kind = field.type
    if pa.types.is_timestamp(kind) and kind.tz is None:
        kind = pa.timestamp(kind.unit, "UTC")
    return pa.field(column_name(field.name), kind)


def _advice(error: duckdb.Error, statement: str) -> str:
    """Return advice on some errors of DuckDB, to follow its message; else an empty text."""
    quoted = [token.text for token in tokens(statement) if token.kind == "quoted"]
    if any(f"column {text} not found" in str(error) for text in quoted):
        return "; put texts in single quotes: in double quotes they are names"
    is_foreign = isinstance(
        error, duckdb.ParserException | duckdb.SyntaxException | duckdb.CatalogException
    )
    return "; if it is Spark's SQL, use --engine spark" if is_foreign else ""


def _paragraph(error: Exception) -> str:
    """Return the message without the lines that point into the statement or into Python's code."""
    lines = str(error).partition("\nLINE ")[0].partition("\nAt:\n")[0].splitlines()
    return " ".join(line.strip() for line in lines if line.strip())
