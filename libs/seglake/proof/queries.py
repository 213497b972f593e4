"""Reads and prints named queries, such as the conditions of a sound lake in proof.sql.

The queries run in DuckDB and Spark. The tables are written by Python and proved by SQL, so an audit
shares no code with the writers.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from seglake.lake.tables import (
    BATCHES,
    CHECKPOINTS,
    GAPS,
    QUARANTINE,
    RECORDS,
    SALVAGED_RECORDS,
)

PROVED_TABLES = (RECORDS, BATCHES, QUARANTINE, GAPS, CHECKPOINTS, SALVAGED_RECORDS)

_HEAD = re.compile(r"^-- (derive|check|fact) (\w+)\n((?:-- .*\n)+)", re.MULTILINE)


TYPED_QUERIES = "typed.sql"
"""File with the SQL that proves typed tables."""
LATEST_QUERIES = "latest.sql"
"""File with the SQL that proves tables of latest state."""
MOST_EXAMPLES = 5
"""Maximum number of problems of a kind that are shown of a log."""


class Purpose(StrEnum):
    """Purpose of one of the proof's queries."""

    DERIVE = "derive"  # computes a table that later queries use
    CHECK = "check"  # returns no row if its sentence is true
    FACT = "fact"  # returns sums to show


class Dialect(StrEnum):
    """SQL dialect in which a proof is printed, for a lake or for its typed tables."""

    DUCKDB = "duckdb"
    SPARK = "spark"
    DUCKDB_TYPED = "duckdb-typed"
    SPARK_TYPED = "spark-typed"

    @property
    def engine(self) -> str:
        """Return the engine that understands the dialect."""
        return self.removesuffix("-typed")


class Query(NamedTuple):
    """Query with the sentence that it checks, or that describes its rows."""

    purpose: Purpose
    name: str
    sentence: str
    sql: str


@cache
def queries(package: str = __package__, name: str = "proof.sql") -> tuple[Query, ...]:
    """Read all queries of a file; each comes after the derived tables that it uses.

    Args:
        package: package of the file.
        name: name of the file.
    """
    return tuple(_parsed(files(package).joinpath(name).read_text("utf-8")))


def with_derived(requested: Iterable[Query]) -> tuple[Query, ...]:
    """Return the queries, preceded by the derived tables that they use."""
    found = [*requested]
    for query in reversed(queries()):
        is_used = any(re.search(rf"\b{query.name}\b", each.sql) for each in found)
        if query.purpose is Purpose.DERIVE and is_used:
            found.insert(0, query)
    return tuple(found)


def _parsed(text: str) -> Iterator[Query]:
    heads = [*_HEAD.finditer(text)]
    for head, end in zip(heads, [*(each.start() for each in heads[1:]), len(text)], strict=True):
        sentence = " ".join(line.removeprefix("-- ") for line in head[3].splitlines())
        sql = text[head.end() : end].strip().removesuffix(";")
        yield Query(Purpose(head[1]), head[2], sentence, sql)


def any_problem(check: Query) -> str:
    """Return a query that has a row if there is a problem; it needs no order and no sums."""
    return f"SELECT 1 AS one FROM ({check.sql}) AS found LIMIT 1"


def first_problems(check: Query) -> str:
    """Return a query for the first problems of each log, with each log's total number of problems.

    Args:
        check: query whose rows are problems.
    """
    return f"""\
SELECT log, said, CAST(total AS BIGINT) AS total FROM (
  SELECT log, said, sum(number) OVER (PARTITION BY log) AS total,
         row_number() OVER (PARTITION BY log ORDER BY place, said) AS rank
  FROM ({check.sql}) AS found) AS ranked
WHERE rank <= {MOST_EXAMPLES} ORDER BY log, rank"""


def typed_places(topics: Mapping[str, str]) -> str:
    """Return the SQL of the view `typed_places`, which locates each row of all typed tables.

    Args:
        topics: the topic of each typed table, as an SQL literal, by the table's name in SQL.
    """
    selects = [_PLACES.format(topic=topic, table=table) for table, topic in topics.items()]
    return "\nUNION ALL\n".join(selects) or _NO_PLACES


def latest_states(names: Iterable[str]) -> str:
    """Return the SQL of the view `latest_states` with the rows of all tables of latest state."""
    return "\nUNION ALL\n".join(f"SELECT * FROM {name}" for name in names)


def latest_compared(generations: Mapping[tuple[str, str], int]) -> str:
    """Return the SQL of the view `latest_compared`: the topics whose latest state is proved.

    Args:
        generations: newest commit of each source and topic, which are SQL literals.
    """
    rows = [
        f"SELECT {source} AS source_id, {topic} AS topic, CAST({number} AS BIGINT) AS generation"
        for (source, topic), number in generations.items()
    ]
    return "\nUNION ALL\n".join([*rows, _NOTHING_COMPARED])


def script(dialect: Dialect) -> str:
    """Return the proof as an SQL script over the lake's tables.

    The lake is proved if the last statement returns no row.
    """
    is_typed = dialect.endswith("-typed")
    about = _ABOUT_TYPED if is_typed else _ABOUT
    texts = [about.format(dialect=dialect.engine)]
    checks = []
    for query in queries(name=TYPED_QUERIES) if is_typed else queries():
        comment = _comment(f"{query.name}: {query.sentence}")
        if query.purpose is Purpose.DERIVE:
            texts.append(f"{comment}\n{_derived(dialect, query)}")
        elif query.purpose is Purpose.CHECK:
            checks.append(
                f"{comment}\nSELECT '{query.name}' AS problem, found.* FROM (\n{query.sql}"
            )
    problems = ") AS found\nUNION ALL\n".join(checks)
    texts.append(f"CREATE OR REPLACE TEMPORARY VIEW proof_problems AS\n{problems}) AS found;")
    texts.append(_TYPED_ANSWER if is_typed else _ANSWER)
    return "\n\n".join(texts) + "\n"


def _comment(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="-- ", subsequent_indent="-- ")


def _derived(dialect: Dialect, query: Query) -> str:
    if dialect.engine == Dialect.DUCKDB:
        return f"CREATE OR REPLACE TEMPORARY TABLE {query.name} AS\n{query.sql};"
    # Spark would compute a view again for each use, so make a table instead.
    dropped = f"DROP TABLE IF EXISTS {query.name};"
    return f"{dropped}\nCREATE TABLE {query.name} USING parquet AS\n{query.sql};"


_PLACES = """\
SELECT _source_id AS source_id, _topic_id AS topic_id, {topic} AS topic, _partition AS partition,
       _offset AS offset, _generation AS generation
FROM {table}"""
_NO_PLACES = """\
SELECT source_id, topic_id, topic, partition, value_rejects.offset, generation
FROM value_rejects WHERE false"""
_NOTHING_COMPARED = "SELECT '' AS source_id, '' AS topic, CAST(0 AS BIGINT) AS generation"
_ABOUT = """\
-- The proof of a lake, in {dialect}. The lake is proved if the last statement returns no row.
-- First define the tables: seglake register --lake LAKE --print {dialect}"""
_ABOUT_TYPED = """\
-- The proof of typed tables, in {dialect}, for a lake that `seglake deserialize` has decoded. The
-- tables are proved if the last statement returns no row.
-- First define the tables: seglake register --lake LAKE --print {dialect}"""
_TYPED_ANSWER = "SELECT problem, log, place, number, said FROM proof_problems ORDER BY ALL;"
_ANSWER = """\
SELECT problem, source_id, topic, partition, place, number, said
FROM proof_problems LEFT JOIN (
  SELECT DISTINCT log, source_id, topic, partition FROM proof_log_ids) AS names USING (log)
ORDER BY problem, source_id, topic, partition, place;"""
