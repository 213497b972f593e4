"""Each reader of docs/query.md, run as the page shows it, and its answers likened."""

import io
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from seglake.cli import register_command, sql_command
from support.query_answers import Answers, likened
from support.query_page import LAKE, blocks, questions, ran

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Any: frames and relations of libraries that this package does not import.
_COMMANDS = {"sql": sql_command.main, "register": register_command.main}


def by_views(session: "SparkSession", lake: str, topic: str | None = None) -> Answers:
    """Return the answers that `seglake sql --json` prints."""
    # Imported here: the other readers need no Spark.
    from support.spark_answers import query

    answers = []
    for question in _of_topic(questions(), topic):
        out = io.StringIO()
        query(session, lake, question, as_json=True, out=out)
        answers.append(likened(map(json.loads, out.getvalue().splitlines())))
    return Answers(*answers)


def by_pyspark() -> Answers:
    """Return the answers of the tests' Spark session, which has the JARs already."""
    run_commands("PySpark")
    names: Mapping[str, Any] = ran(blocks("PySpark", "python"))
    return Answers(*(likened(names[name].toArrow().to_pylist()) for name in Answers._fields))


def by_parquet(topic: str | None = None) -> Answers:
    """The file of each question, as Polars reads it; `topic` takes the place of the page's own."""
    file = Path("build/answer.parquet")
    answers = []
    for question in _of_topic(questions(), topic):
        _, said = _printed(sql_command.main, ["--lake", LAKE, "--parquet", str(file), question])
        assert "rows in" in said
        answers.append(likened(pl.read_parquet(file).to_dicts()))
    return Answers(*answers)


def by_duckdb(topic: str | None = None) -> Answers:
    """Over the files, without an extension."""
    return by_duckdb_s_script("build/files.sql", topic)


def by_duckdb_s_script(script: str, topic: str | None = None) -> Answers:
    """Return the answers in DuckDB, after one of the two scripts that the page prints."""
    run_commands("DuckDB")
    (block,) = blocks("DuckDB", "python")
    names: Mapping[str, Any] = ran([block.replace("build/lake.sql", script)])
    asked = _of_topic(names["questions"], topic)
    return Answers(*(_of_relation(names["con"].sql(question)) for question in asked))


def run_commands(section: str) -> None:
    """Run the lines of the block of a section that are seglake's, and write what they print."""
    (block,) = blocks(section, "bash")
    for line in block.splitlines():
        command, _, target = line.partition(" > ")
        _, name, *arguments = shlex.split(command)
        printed, _ = _printed(_COMMANDS[name], arguments)
        if target:
            Path(target).write_text(printed, "utf-8")


def _printed(main: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> tuple[str, str]:
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        assert main(arguments) == 0, errors.getvalue()
    return out.getvalue(), errors.getvalue()


def _of_topic(sources: Sequence[str], topic: str | None) -> list[str]:
    return [source if topic is None else source.replace("v2-zstd", topic) for source in sources]


def _of_relation(relation: Any) -> list[dict[str, object]]:
    rows = (dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall())
    return likened(rows)
