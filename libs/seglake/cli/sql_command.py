"""`seglake sql`: queries the tables, in DuckDB or in Spark."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seglake.cli.command_run import run_command
from seglake.cli.streams import write_as_utf_8
from seglake.environment.output_places import may_be_written
from seglake.errors import ExitCode, WrongCallError
from seglake.pipelines.lake_query.statements import require_query, split_statements
from seglake.settings.settings import Settings

if TYPE_CHECKING:
    from seglake.pipelines.lake_query.lake_queries import LakeQueries

_STDIN = "-"


def main(argv: Sequence[str]) -> int:
    """Run `seglake sql`; exit with 2 if there is no lake or a statement is refused."""
    return run_command("sql", _query, argv)


def _query(arguments: argparse.Namespace, settings: Settings) -> int:
    text = _text(arguments)
    statements = [] if text is None else _statements(text, arguments.parquet)
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.cli.sql_engines import lake_queries
    from seglake.cli.sql_prompt import prompt
    from seglake.pipelines.lake_query.answers import OutputFormat

    form = OutputFormat(arguments.form)
    if form is not OutputFormat.TABLE:
        write_as_utf_8()
    with lake_queries(arguments, settings) as queries:
        if text is None:
            prompt(
                lambda statement: queries.write(statement, form, sys.stdout),
                survives_interrupts=queries.survives_interrupts,
            )
        for statement in statements:
            if arguments.parquet is None:
                queries.write(statement, form, sys.stdout)
                sys.stdout.flush()  # show the answer before the next statement, which may take long
            else:
                _write_parquet(queries, statement, Path(arguments.parquet))
    return ExitCode.DONE


def _text(arguments: argparse.Namespace) -> str | None:
    """Return the statements' text; None if a person will type statements at a prompt."""
    if arguments.query is not None:
        if arguments.file is not None:
            raise WrongCallError("give a statement or --file, not both")
        return str(arguments.query)
    if arguments.file is not None and arguments.file != _STDIN:
        try:
            return Path(arguments.file).read_text("utf-8")
        except OSError as error:
            raise WrongCallError(f"cannot read {arguments.file}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise WrongCallError(f"cannot read {arguments.file}: it is not UTF-8") from error
    is_person = sys.stdin.isatty() and sys.stdout.isatty()
    if arguments.file is None and is_person and arguments.parquet is None:
        return None
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise WrongCallError("cannot read standard input: it is not UTF-8") from error


def _statements(text: str, parquet: str | None) -> list[str]:
    """Split a text into statements; raise WrongCallError unless all are queries."""
    statements = split_statements(text)
    if not statements:
        raise WrongCallError("there is no statement: give a SELECT")
    for statement in statements:
        require_query(statement)
    if parquet is not None and len(statements) > 1:
        raise WrongCallError(f"--parquet takes one statement, got {len(statements)}")
    if parquet is not None and not Path(parquet).parent.is_dir():
        raise WrongCallError(f"cannot write {parquet}: there is no such folder")
    if parquet is not None and not may_be_written(parquet):
        raise WrongCallError(f"cannot write {parquet}: it is no regular file")
    return statements


def _write_parquet(queries: "LakeQueries", statement: str, target: Path) -> None:
    """Write the answer to a file.

    If this fails, an older file stays unchanged.
    """
    from seglake.pipelines.lake_query.answers import write_parquet

    answer = queries.answer(statement)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with unfinished.open("xb") as sink:
            rows = write_parquet(answer, sink)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    print(f"{rows} rows in {target}", file=sys.stderr)
    queries.note_what_is_lacking(statement)
