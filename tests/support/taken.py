"""Rows of a lake as short values that a test can compare."""

from pathlib import Path

from seglake.ingest_steps.report.ingest_summary import IngestSummary
from support.lakes import Row, read_table
from support.made_logs import Made


def records_taken(lake: Path) -> list[Made]:
    """Every record as `made_records` gives them, sorted."""
    rows = read_table(lake, "records")
    return sorted(Made(row["topic"], row["partition"], row["offset"], row["value"]) for row in rows)


def offsets_taken(lake: Path, topic: str = "orders") -> list[int]:
    """The offsets of one topic, sorted, doubles kept."""
    return sorted(row["offset"] for row in read_table(lake, "records") if row["topic"] == topic)


def gaps_taken(lake: Path) -> list[tuple[int, int, str]]:
    """Start, end and cause of every gap, sorted."""
    rows = read_table(lake, "gaps")
    return sorted((row["start_offset"], row["next_offset"], row["cause"]) for row in rows)


def ranges_taken(lake: Path) -> list[tuple[int, int]]:
    """Start and end of every row of the ledger, sorted."""
    return sorted((row["start_offset"], row["next_offset"]) for row in ledger(lake))


def ledger(lake: Path) -> list[Row]:
    return read_table(lake, "checkpoints")


def is_nothing_new(summary: IngestSummary) -> bool:
    return (summary.exit_code, summary.planned.tasks, summary.topics, summary.records) == (
        0,
        0,
        [],
        0,
    )
