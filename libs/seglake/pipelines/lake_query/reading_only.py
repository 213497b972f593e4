"""Keeps a query from writing: only `ingest` may, or the tables would no longer add up."""

from collections.abc import Iterator
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from seglake.pipelines.lake_query.statements import refused

_READING_COMMANDS = ("Show", "Describe", "Explain")
_COMMAND = "org.apache.spark.sql.catalyst.plans.logical.Command"


def refuse_writes(session: SparkSession, text: str) -> None:
    """Let SELECT, WITH, VALUES, SHOW, DESCRIBE and EXPLAIN pass.

    Judged by the plan that Spark's own parser makes, not by the words.

    Raises:
        WrongQueryError: the statement does something else.
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
    """The plan and everything below it."""
    yield plan
    children = plan.children()
    for index in range(children.size()):
        yield from _nodes(children.apply(index))
