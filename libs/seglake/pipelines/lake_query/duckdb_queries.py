"""Answers statements in DuckDB, in this process. Effect: reads the lake.

DuckDB sees the data files that delta-rs finds in a table's log, and nothing else: it may neither
write a file nor read another one, nor fetch an extension.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

import duckdb
import pyarrow as pa

from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import SchemaError, TableRefusedError
from seglake.lake.tables import REQUIRED_TABLES, Table
from seglake.pipelines.lake_query.answers import Answer
from seglake.pipelines.lake_query.duckdb_sql import (
    SCHEME,
    SYNTAX_TREE,
    TEXT_MACROS,
    TEXT_OF_TREE,
    below,
    is_plain,
    no_rows,
    no_view,
    settings,
    view,
    view_of_files,
)
from seglake.pipelines.lake_query.duckdb_text import (
    casts_as_in_spark,
    column_name,
    in_duckdb,
    looks_like_spark,
    missing,
    other_meaning,
    reads_texts_as_spark,
)
from seglake.pipelines.lake_query.errors import (
    NotForDuckDBError,
    WrongQueryError,
    query_failed,
    with_hint,
)
from seglake.pipelines.lake_query.named import no_such_table, tables_in, views_in
from seglake.pipelines.lake_query.statements import refused
from seglake.pipelines.lake_query.views import DUCKDB_VIEWS

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
    """One DuckDB over one lake; each statement sees the newest state of its tables.

    Args:
        lake: whose tables are all there.
        spill_folder: where results go that memory cannot hold.
        spark_has_function: whether Spark has a function of a name; None if Spark may not answer
            instead, so that everything is taken as DuckDB understands it.
    """

    def __init__(
        self,
        lake: LakeTables,
        *,
        spill_folder: str,
        spark_has_function: Callable[[str], bool] | None,
    ) -> None:
        self._lake = lake
        self._spark_has_function = spark_has_function
        self._reads_directly = is_plain(lake.lake_path)
        self._connection = duckdb.connect(config={"temp_directory": spill_folder})
        folder = lake.lake_path
        if not self._reads_directly:
            folder = f"{SCHEME}://"
            from seglake.pipelines.lake_query.storage_files import StorageFiles  # fsspec: 0.1 s

            self._connection.register_filesystem(StorageFiles(lake.storage, lake.lake_path))
        for each in (*TEXT_MACROS, *settings(folder)):
            self._connection.execute(each)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._connection.close()

    def answer(self, statement: str) -> Answer:
        """Begin to answer a statement; rows come as they are read.

        Raises:
            WrongQueryError: DuckDB does not understand it, or it would write.
            NotForDuckDBError: Spark may.
            QueryFailedError: the answer could not be computed.
        """
        text = in_duckdb(statement)
        with self._explained(statement):
            self._require_query(text)
            parsed = json.loads(self._said(SYNTAX_TREE, text))
        if self._spark_has_function is not None:
            _require_same_meaning(statement, parsed)
        with self._explained(statement):
            self._register(statement)
            spelled = casts_as_in_spark(parsed)
            if spelled != parsed:
                text = self._said(TEXT_OF_TREE, json.dumps(spelled))
            reader = self._connection.execute(text).to_arrow_reader(_BATCH_ROWS)
        schema = pa.schema([field.with_name(column_name(field.name)) for field in reader.schema])
        return Answer(schema, self._batches(reader, statement))

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
        for table in reversed(tables_in(statement, DUCKDB_VIEWS)):
            self._register_table(table)
        for name, query in views_in(statement, self._lake.topics, DUCKDB_VIEWS).items():
            self._connection.execute(view(name, query))

    def _register_table(self, table: Table) -> None:
        paths = self._paths(table)
        if paths:
            if table.added:
                self._connection.register(no_rows(table), table.schema.empty_table())
            self._connection.execute(view_of_files(table, paths))
        else:
            self._connection.execute(no_view(table.name))
            self._connection.register(table.name, table.schema.empty_table())

    def _paths(self, table: Table) -> list[str]:
        """A table's data files as DuckDB reaches them; none where the lake is from before it."""
        if table not in REQUIRED_TABLES and not self._lake.has(table):
            return []
        try:
            paths = self._lake.file_paths(table)
        except (SchemaError, TableRefusedError) as error:
            raise NotForDuckDBError(str(error)) from error
        if self._reads_directly:
            return paths
        return [below(path, self._lake.lake_path) for path in paths]

    def _batches(self, reader: pa.RecordBatchReader, statement: str) -> Iterator[pa.RecordBatch]:
        while True:
            with self._explained(statement):
                batch = next(reader, None)
            if batch is None:
                return
            yield batch

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

    def _refusal(self, error: duckdb.Error, statement: str) -> Exception:
        reason = self._only_spark(error, statement)
        if reason is not None:
            return NotForDuckDBError(reason)
        table = missing("table", str(error))
        if table is not None:
            return no_such_table(table, self._lake.topics())
        return WrongQueryError(f"DuckDB refuses the query: {with_hint(_paragraph(error))}")

    def _only_spark(self, error: duckdb.Error, statement: str) -> str | None:
        """What Spark may know that DuckDB does not."""
        if self._spark_has_function is None:
            return None
        if isinstance(error, duckdb.ParserException | duckdb.SyntaxException):
            return "its syntax is Spark's" if looks_like_spark(statement) else None
        function = missing("function", str(error))
        if function is not None and self._spark_has_function(function.casefold()):
            return f"DuckDB has no function {function.casefold()} for this"
        kind = missing("type", str(error))
        return None if kind is None else f"DuckDB has no type {kind}"


def _require_same_meaning(statement: str, parsed: object) -> None:
    if reads_texts_as_spark(statement):
        raise NotForDuckDBError("a text in it has a backslash, an escape to Spark only")
    other = other_meaning(parsed)
    if other is not None:
        raise NotForDuckDBError(other)


def _paragraph(error: Exception) -> str:
    """The message without the lines that point into the statement."""
    lines = str(error).partition("\nLINE ")[0].splitlines()
    return " ".join(line.strip() for line in lines if line.strip())
