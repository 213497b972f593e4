"""A small lake written without any of our own writers, and how it is queried."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from seglake.lake.tables import TABLES
from support.spark_answers import query

Row = Mapping[str, object]


def range_row(partition: int, start: int, end: int, generation: int, **other: object) -> Row:
    row = {
        "source_id": "c1",
        "topic_id": "id1",
        "topic": "orders",
        "partition": partition,
        "kind": "ingest",
        "start_offset": start,
        "next_offset": end,
        "generation": generation,
        "run_id": "hourly",
        "attempt_id": f"attempt{generation}",
    }
    return row | other


def gap_row(partition: int, start: int, end: int, attempt_id: str, **other: object) -> Row:
    row = {
        "source_id": "c1",
        "topic_id": "id1",
        "topic": "orders",
        "partition": partition,
        "start_offset": start,
        "next_offset": end,
        "cause": "quarantined",
        "run_id": "hourly",  # a label that runs may share
        "attempt_id": attempt_id,
    }
    return row | other


CHECKPOINTS: Sequence[Row] = [
    # 0: three ranges in no order, one gap of coverage at 30
    range_row(0, 10, 20, 2),
    range_row(0, 0, 10, 1, topic_id=None),  # before the id was known
    range_row(0, 20, 30, 3),
    range_row(0, 40, 50, 4),
    # 1: nothing reaches the log start
    range_row(1, 5, 9, 1),
    # 2: covered and empty
    range_row(2, 0, 0, 1),
    # 3: repaired at 4, then partly again
    range_row(3, 0, 100, 1),
    range_row(3, 10, 20, 5, kind="repair"),
    range_row(3, 30, 40, 6, kind="repair"),
    # another topic of the same name in another cluster
    range_row(0, 0, 7, 1, source_id="c2", topic_id="id2"),
    # a topic whose name is no SQL name
    range_row(0, 0, 2, 1, topic="my.orders-EU", topic_id=None),
]
GAPS: Sequence[Row] = [
    gap_row(3, 0, 5, "attempt1"),  # no repair
    gap_row(3, 10, 20, "attempt1"),  # repaired whole
    gap_row(
        3, 30, 40, "attempt1", topic_id=None
    ),  # repaired in part; written before the id was known
    gap_row(3, 35, 40, "attempt6"),  # what the repair of it left
    gap_row(0, 3, 4, "attempt1", source_id="c2", topic_id="id2"),
]
RECORDS: Sequence[Row] = [
    {"topic": "orders", "partition": 0, "offset": 0, "value": b"\x01\x02", "key": None},
    {"topic": "my.orders-EU", "partition": 0, "offset": 0, "value": b"", "key": b"k"},
    {"topic": "my.orders-EU", "partition": 0, "offset": 1, "value": None, "key": b"k"},
]


def write_lake(lake: Path) -> None:
    """All tables, with these rows of the ledger, gaps and records."""
    rows = {"checkpoints": CHECKPOINTS, "gaps": GAPS, "records": RECORDS}
    for table in TABLES:
        content = pa.Table.from_pylist(list(rows.get(table.name, [])), schema=table.schema)
        write_deltalake(lake / table.name, content, partition_by=list(table.partition_by) or None)


def ask(session: SparkSession, lake: Path, text: str) -> list[dict[str, object]]:
    """The answer's rows, as `--json` prints them."""
    out = io.StringIO()
    query(session, lake, text, as_json=True, out=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]
