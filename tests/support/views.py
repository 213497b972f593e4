"""Asks the views for DuckDB, as `register` prints them, over the tables of a lake."""

import re
from pathlib import Path

from support.asked import over
from support.lakes import Row, oracle_record
from support.oracle import OracleRecord

_QUOTED_IN_DUCKDB = re.compile(r"\boffset\b")


def viewed(lake: Path, query: str) -> list[Row]:
    """The rows of an answer."""
    rows: list[Row] = over(lake).execute(query).to_arrow_table().to_pylist()
    return rows


def viewed_as_in_spark(lake: Path, query: str) -> list[Row]:
    """Return the rows of a query in Spark's SQL, run in DuckDB with its macros."""
    return viewed(lake, _QUOTED_IN_DUCKDB.sub('"offset"', query))


def records_in(lake: Path, view: str, partition: int, topic: str = "rep") -> list[OracleRecord]:
    """The records of a partition that a view has, by their offsets."""
    where = f"topic = '{topic}' AND partition = {partition}"
    rows = viewed(lake, f'SELECT * FROM {view} WHERE {where} ORDER BY "offset"')
    return [oracle_record(row) for row in rows]
