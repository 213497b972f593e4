"""Named queries; those of proof.sql are the conditions of a sound lake, for DuckDB and Spark.

Runs use Python and the proof uses SQL, so an audit shares no code with the writers of the tables.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
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


class Purpose(StrEnum):
    """Purpose of a query."""

    DERIVE = "derive"  # makes a table for later queries
    CHECK = "check"  # answers no row if its sentence holds
    FACT = "fact"  # answers a sum to show


class Dialect(StrEnum):
    """Engine whose SQL the proof is printed in."""

    DUCKDB = "duckdb"
    SPARK = "spark"


class Query(NamedTuple):
    """A query, and the sentence that says what holds or what the query answers."""

    purpose: Purpose
    name: str
    sentence: str
    sql: str


@cache
def queries(package: str = __package__, name: str = "proof.sql") -> tuple[Query, ...]:
    """Return all queries of a file, in the order in which they build on each other.

    Args:
        package: the package of the file.
        name: name of the file.
    """
    return tuple(_parsed(files(package).joinpath(name).read_text("utf-8")))


def with_derived(requested: Iterable[Query]) -> tuple[Query, ...]:
    """Return queries after the derived tables that they use, and no other tables."""
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


def first_problems(check: Query, most: int) -> str:
    """Return a query for the first problems of each log, each with the number of all problems.

    Args:
        check: a query whose rows are problems.
        most: number of problems of each log.
    """
    return f"""\
SELECT log, said, CAST(total AS BIGINT) AS total FROM (
  SELECT log, said, sum(number) OVER (PARTITION BY log) AS total,
         row_number() OVER (PARTITION BY log ORDER BY place, said) AS rank
  FROM ({check.sql}) AS found) AS ranked
WHERE rank <= {most} ORDER BY log, rank"""


def script(dialect: Dialect) -> str:
    """Return the proof as a script over the lake's tables.

    Its last answer has no row if the lake is proved.
    """
    texts = [_ABOUT.format(dialect=dialect)]
    checks = []
    for query in queries():
        comment = _comment(f"{query.name}: {query.sentence}")
        if query.purpose is Purpose.DERIVE:
            texts.append(f"{comment}\n{_derived(dialect, query)}")
        elif query.purpose is Purpose.CHECK:
            checks.append(
                f"{comment}\nSELECT '{query.name}' AS problem, found.* FROM (\n{query.sql}"
            )
    problems = ") AS found\nUNION ALL\n".join(checks)
    texts.append(f"CREATE OR REPLACE TEMPORARY VIEW proof_problems AS\n{problems}) AS found;")
    texts.append(_ANSWER)
    return "\n\n".join(texts) + "\n"


def _comment(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="-- ", subsequent_indent="-- ")


def _derived(dialect: Dialect, query: Query) -> str:
    if dialect is Dialect.DUCKDB:
        return f"CREATE OR REPLACE TEMPORARY TABLE {query.name} AS\n{query.sql};"
    # Spark would compute a view again for each view that uses it.
    dropped = f"DROP TABLE IF EXISTS {query.name};"
    return f"{dropped}\nCREATE TABLE {query.name} USING parquet AS\n{query.sql};"


_ABOUT = """\
-- The proof of a lake, in {dialect}. Its last answer has no row where the lake is proved.
-- Before it, name the tables: seglake register --lake LAKE --print {dialect}"""
_ANSWER = """\
SELECT problem, source_id, topic, partition, place, number, said
FROM proof_problems LEFT JOIN (
  SELECT DISTINCT log, source_id, topic, partition FROM proof_log_ids) AS names USING (log)
ORDER BY problem, source_id, topic, partition, place;"""
