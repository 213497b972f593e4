"""SQL of the views. It runs in each engine that has the tables under the names of `tables.py`.

Reads views.sql, which defines each view once.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_HEAD = re.compile(r"^-- (view|part|query) (\w+)(?:\((.*)\))?(?: in (\w+))?\n", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
_USE = re.compile(r"\{(\w+)(?:\(([^{}]*)\))?\}")


class Dialect(StrEnum):
    """Dialects of the views' SQL."""

    SPARK = "spark"
    DUCKDB = "duckdb"


class _Text(NamedTuple):
    """Entry of views.sql with unfilled parameters and parts."""

    kind: str
    parameters: tuple[str, ...]
    sql: str


@cache
def views(dialect: Dialect) -> Mapping[str, str]:
    """Return the views by name, ordered so that each reads only tables and earlier views."""
    texts = _texts(dialect)
    return {name: _filled(text, texts) for name, text in texts.items() if text.kind == "view"}


def view_names() -> tuple[str, ...]:
    """Return the names of the views, in the order of creation."""
    return tuple(views(Dialect.SPARK))


def query(name: str, *arguments: str) -> str:
    """Return a query that both engines can run.

    Args:
        name: the query's name in views.sql.
        arguments: texts for the query's parameters, in order.
    """
    texts = _texts(Dialect.DUCKDB)
    return _filled(texts[name], texts, arguments)


def topic_view(topic: str) -> str:
    """Return the SQL of a topic's view."""
    return f"SELECT * FROM current_records WHERE topic = '{escaped(topic)}'"


def escaped(text: str) -> str:
    """Return a text escaped for a Spark SQL literal, without the apostrophes around it."""
    return text.replace("\\", "\\\\").replace("'", "\\'")


def views_of(text: str, known: Mapping[str, str]) -> dict[str, str]:
    """Return the views that a text uses, directly or through other views, in creation order."""
    used: dict[str, str] = {}
    for name, view in reversed([*known.items()]):
        if any(name.casefold() in each.casefold() for each in (text, *used.values())):
            used[name] = view
    return dict(reversed(used.items()))


@cache
def _texts(dialect: Dialect) -> Mapping[str, _Text]:
    return {name: text for name, engine, text in _read() if engine in (None, dialect)}


def _read() -> Iterator[tuple[str, str | None, _Text]]:
    content = files(__package__).joinpath("views.sql").read_text("utf-8")
    heads = [*_HEAD.finditer(content)]
    ends = [*(head.start() for head in heads[1:]), len(content)]
    for head, end in zip(heads, ends, strict=True):
        kind, name, parameters, engine = head.groups()
        sql = _COMMENT.sub("", content[head.end() : end]).strip("\n")
        yield name, engine, _Text(kind, _listed(parameters), sql)


def _filled(text: _Text, texts: Mapping[str, _Text], arguments: tuple[str, ...] = ()) -> str:
    """Return a text with its arguments and named parts filled in."""
    given = dict(zip(text.parameters, arguments, strict=True))
    sql = _USE.sub(lambda use: given.get(use[1], use[0]), text.sql)
    return _USE.sub(lambda use: _filled(texts[use[1]], texts, _listed(use[2])), sql)


def _listed(arguments: str | None) -> tuple[str, ...]:
    return tuple(each.strip() for each in arguments.split(",")) if arguments else ()
