"""Asks the views of the product, as conf/duckdb.sql has them, over the tables of a lake."""

from pathlib import Path

from support.asked import over
from support.lakes import Row, oracle_record
from support.oracle import OracleRecord


def viewed(lake: Path, query: str) -> list[Row]:
    """The rows of an answer."""
    rows: list[Row] = over(lake).execute(query).to_arrow_table().to_pylist()
    return rows


def records_in(lake: Path, view: str, partition: int, topic: str = "rep") -> list[OracleRecord]:
    """The records of a partition that a view has, by their offsets."""
    where = f"topic = '{topic}' AND partition = {partition}"
    rows = viewed(lake, f'SELECT * FROM {view} WHERE {where} ORDER BY "offset"')
    return [oracle_record(row) for row in rows]
