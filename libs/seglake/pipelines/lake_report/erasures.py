"""Reads the erasures of a lake from its rules."""

from datetime import datetime
from typing import NamedTuple

from seglake.grouping import grouped
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_rows import read_rows
from seglake.lake.rule_table import ERASURES

_COLUMNS = ("topic", "kind", "reason", "run_id", "erased_at")


class Erasure(NamedTuple):
    """An erasure: the rules that one run stored."""

    run_id: str
    erased_at: datetime
    topics: tuple[str, ...]
    kind: str
    rules: int
    reason: str


def erasures_of(tables: LakeTables) -> tuple[Erasure, ...]:
    """Return the erasures of a lake, the newest first; empty without erasures."""
    if not tables.has(ERASURES):
        return ()
    rows = [
        row
        for path in tables.file_paths(ERASURES)
        for part in read_rows(tables.storage, path, _COLUMNS)
        for row in part.to_pylist()
    ]
    found = [
        Erasure(
            run_id=run_id,
            erased_at=max(row["erased_at"] for row in own),
            topics=tuple(sorted({row["topic"] for row in own})),
            kind=kind,
            rules=len(own),
            reason=own[0]["reason"] or "",
        )
        for (run_id, kind), own in grouped(((r["run_id"], r["kind"]), r) for r in rows).items()
    ]
    return tuple(sorted(found, key=lambda each: each.erased_at, reverse=True))
