"""Asks the views of the product, as conf/duckdb.sql has them, over the tables of a lake."""

from pathlib import Path

import duckdb

from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.scripts import duckdb_script
from support.lakes import Row, oracle_record, read_arrow
from support.oracle import OracleRecord


def viewed(lake: Path, query: str) -> list[Row]:
    """The rows of an answer."""
    with duckdb.connect(":memory:") as connection:
        connection.execute("set threads = 1")
        for table in TABLES:
            connection.register(table.name, read_arrow(lake, table.name))
        for statement in duckdb_script().split(";\n"):
            if statement.strip() and "delta_scan" not in statement:
                connection.execute(statement)
        rows: list[Row] = connection.execute(query).to_arrow_table().to_pylist()
        return rows


def records_in(lake: Path, view: str, partition: int, topic: str = "rep") -> list[OracleRecord]:
    """The records of a partition that a view has, by their offsets."""
    where = f"topic = '{topic}' AND partition = {partition}"
    rows = viewed(lake, f'SELECT * FROM {view} WHERE {where} ORDER BY "offset"')
    return [oracle_record(row) for row in rows]
