"""The damage of one partition: how much of it there is, and which offsets it hides. Pure.

Memory grows with the damaged spans; their bytes are not read.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from seglake.lake.parquet_rows import HIGHEST, LOWEST
from seglake.pipelines.lake_audit.ledger import Flags, Offsets, PartitionLedger
from seglake.pipelines.losing_tails import LosingTail, TailKind, TailsOfPartition

CONFLICT = "replica_conflict"
_NEVER = -1


class DefectCount(NamedTuple):
    """Number of damaged spans with a code, and their bytes."""

    spans: int
    size_bytes: int


class QuarantineSums(NamedTuple):
    """Sums of one partition in quarantine.

    Attributes:
        spans, size_bytes: damage that the ledger counts. A row with a resolution repeats an earlier
            one and is not counted again; bytes of other copies (replica_conflict) are not counted.
        by_code: all damage, by defect code.
        resolved: spans that a repair has resolved.
        tails: batches of copies that lost.
    """

    spans: int
    size_bytes: int
    by_code: Mapping[str, DefectCount]
    resolved: int
    tails: TailsOfPartition


class _Identity(NamedTuple):
    """Identity of bytes at a place."""

    broker_id: int | None
    segment: str | None
    position: int | None
    raw_sha256: str | None


class _Span(NamedTuple):
    """A damaged span: how often it was recorded, and the sound offsets around it."""

    identity: _Identity
    defect_code: str
    size_bytes: int
    rows: int  # without a resolution: a copy at a log's end may be met by two runs
    damaged_at: int  # the newest generation that met it
    resolved_at: int  # the newest that made it good, _NEVER for none
    previous_offset: int
    next_offset: int

    @property
    def is_damage(self) -> bool:
        """Return whether it is of what was read, and no sound batch of another copy."""
        return self.defect_code != CONFLICT

    @property
    def is_resolved(self) -> bool:
        """Return whether it was made good, and not met again by a retake of its offsets."""
        return self.resolved_at > _NEVER and self.resolved_at >= self.damaged_at

    def __str__(self) -> str:
        where = self.identity
        return f"{self.defect_code} at {where.segment}, byte {where.position}"


class Damage:
    """Collects rows of one partition, in any order; call `finish` before any other method."""

    def __init__(self) -> None:
        self._spans: dict[tuple[_Identity, bool], _Span] = {}
        self.row_count = 0
        self._tails: dict[TailKind, dict[object, tuple[int, int, int | None]]] = {}

    def add(self, rows: pa.Table) -> None:
        self.row_count += rows.num_rows
        for row in rows.to_pylist():
            self._add(row)
            if row["defect_code"] == CONFLICT:
                self._add_tail(row)

    def _add_tail(self, row: Mapping[str, Any]) -> None:
        """Count a batch of another copy once; a retake ingests those that won."""
        kind = TailKind.of(row["defect_detail"] or "")
        first, last = row["base_offset"], row["last_offset"]
        if kind is not None and None not in (first, last):
            batch = (first, last, row["expected_crc"], row["length_bytes"])
            self._tails.setdefault(kind, {})[batch] = (first, last, row["record_count"])

    def _add(self, row: Mapping[str, Any]) -> None:
        identity = _Identity(*(row[name] for name in _Identity._fields))
        is_resolution, generation = row["resolution"] is not None, row["generation"] or 0
        low = LOWEST if row["previous_offset"] is None else row["previous_offset"]
        high = HIGHEST if row["next_offset"] is None else row["next_offset"]
        new = _Span(
            identity=identity,
            defect_code=str(row["defect_code"]),
            size_bytes=row["length_bytes"] or 0,
            rows=int(not is_resolution),
            damaged_at=_NEVER if is_resolution else generation,
            resolved_at=generation if is_resolution else _NEVER,
            previous_offset=low,
            next_offset=high,
        )
        # What is a conflict to the log that was read first may be damage to the retake.
        place = identity, new.is_damage
        before = self._spans.get(place)
        if before is not None:
            new = new._replace(
                rows=before.rows + new.rows,
                damaged_at=max(before.damaged_at, new.damaged_at),
                resolved_at=max(before.resolved_at, new.resolved_at),
                previous_offset=min(before.previous_offset, low),
                next_offset=max(before.next_offset, high),
            )
        self._spans[place] = new

    def finish(self, ledger: PartitionLedger) -> None:
        """Finish after the last row; damage of a log that lost an election explains nothing."""
        damage = [span for span in self._spans.values() if span.is_damage and not span.is_resolved]
        is_current = ledger.are_current(
            np.array([max(span.previous_offset + 1, 0) for span in damage], np.int64),
            np.array([span.damaged_at for span in damage], np.int64),
        )
        current = (damage[index] for index in np.flatnonzero(is_current).tolist())
        # Neither resolved nor superseded.
        self._sorted = sorted(current, key=lambda span: span.previous_offset)
        self._lows = np.array([span.previous_offset for span in self._sorted], np.int64)
        highs = np.array([span.next_offset for span in self._sorted], np.int64)
        self._highs = np.maximum.accumulate(highs)

    def sums(self) -> QuarantineSums:
        """Return the sums that the ledger counts, and those by kind."""
        counted = [span for span in self._spans.values() if span.is_damage]
        by_code: dict[str, DefectCount] = {}
        for span in self._spans.values():
            before = by_code.get(span.defect_code, DefectCount(0, 0))
            by_code[span.defect_code] = DefectCount(
                before.spans + 1, before.size_bytes + span.size_bytes
            )
        return QuarantineSums(
            sum(max(span.rows, 1) for span in counted),
            sum(max(span.rows, 1) * span.size_bytes for span in counted),
            by_code,
            sum(span.is_resolved for span in self._spans.values()),
            {kind: LosingTail.of([*found.values()]) for kind, found in self._tails.items()},
        )

    def explains(self, starts: Offsets, stops: Offsets) -> Flags:
        """Whether damage lies where offsets [start, stop) would be."""
        if not self._sorted:
            return np.zeros(len(starts), np.bool_)
        before = np.searchsorted(self._lows, stops)  # spans that begin below the gap's end
        highest = self._highs[np.maximum(before - 1, 0)]
        result: Flags = (before > 0) & (highest > starts)
        return result

    def near(self, start: int, stop: int) -> list[str]:
        """Return the damage that may hide these offsets, for a person."""
        return [
            str(span)
            for span in self._sorted
            if span.previous_offset < stop and span.next_offset > start
        ]
