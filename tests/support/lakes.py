"""Runs the ingest in this process and reads the tables of a lake back, row by row."""

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from lake.engine import LocalEngine
from lake.storage import open_storage
from lake.tables import TABLES
from pipelines.segment_ingest.progress import RunReporter
from pipelines.segment_ingest.run import ingest
from pipelines.segment_ingest.settings import Settings
from pipelines.segment_ingest.summary import IngestSummary
from support.oracle import OracleRecord

_TIMESTAMP_TYPES = {-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}
_NO_TIMESTAMP_MS = -1

# Any: the columns of a row have many types.
Row = dict[str, Any]


def ingested(
    sources: Path | Iterable[Path],
    lake: Path,
    *,
    isolation: str = "read_uncommitted",
    **sections: Mapping[str, object],
) -> IngestSummary:
    """Ingest the sources into the lake in this process, with the default settings.

    Args:
        sections: what shall differ from the defaults, such as `source={"source_id": "c"}`.
    """
    paths = [sources] if isinstance(sources, Path) else sources
    read = {"isolation": isolation, **sections.pop("read", {})}
    settings = Settings.from_mappings([("test", {"read": read, **sections})])
    with LocalEngine(1) as engine:
        return ingest(
            [str(path) for path in paths], str(lake), settings, engine, RunReporter(io.StringIO())
        )


def read_table(lake: Path, table: str) -> list[Row]:
    """All rows of one table, in no order; empty before the lake has tables."""
    if not any(table == known.name for known in TABLES):
        raise ValueError(f"no table is named {table!r}")
    path = open_storage(str(lake / table))[1]
    if not DeltaTable.is_deltatable(path):
        return []
    rows: list[Row] = DeltaTable(path).to_pyarrow_table().to_pylist()
    return rows


def oracle_record(row: Row) -> OracleRecord:
    """A row of `records` as Kafka's consumer would have given it."""
    time_ms = row["timestamp_ms"]
    return OracleRecord.of(
        row["offset"],
        _NO_TIMESTAMP_MS if time_ms is None else time_ms,
        _TIMESTAMP_TYPES[row["timestampType"]],
        row["key"],
        row["value"],
        [(header["key"], header["value"]) for header in row["headers"] or ()],
    )
