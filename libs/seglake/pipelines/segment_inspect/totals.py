"""Adds up the contents of inspected segments."""

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

from seglake.pipelines.segment_inspect.batch_facts import BatchFound
from seglake.pipelines.segment_inspect.verdicts import ValidBatch
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import TailKind


@dataclass(slots=True)
class Totals:
    """Counts of one partition; after `add`, of several.

    `offsets_not_there` counts the offsets between the first and the last valid batch that no valid
    batch spans; `next_offset` is one above the highest offset. Sound (valid), damaged and tail
    bytes add up to the segments' size; damage inside a compressed batch is not counted separately.
    """

    size_bytes: int = 0
    segments: int = 0
    batches: int = 0
    control_batches: int = 0
    records: int = 0
    first_offset: int | None = None
    next_offset: int | None = None
    offsets_not_there: int = 0
    newest_timestamp_ms: int | None = None
    codecs: Counter[str] = field(default_factory=Counter)
    defects: Counter[str] = field(default_factory=Counter)
    tails: Counter[str] = field(default_factory=Counter)
    sound_bytes: int = 0
    defect_bytes: int = 0
    tail_bytes: int = 0

    @property
    def has_torn_end(self) -> bool:
        """Return whether a file ends with bytes that are neither a batch nor padding."""
        return any(kind != TailKind.ZERO for kind in self.tails)

    def batch(self, batch: ValidBatch, found: BatchFound, *, is_first: bool) -> int | None:
        """Count a valid batch, and return the start of a hole before it; None if there is no hole.

        Args:
            batch: the decoded batch.
            found: the batch's columns.
            is_first: whether it is the first or only part of the batch; damage inside a compressed
                batch splits the batch into parts.
        """
        header, last_offset = found.header, batch.last_offset
        self.batches += 1
        self.control_batches += header.is_control
        self.records += 0 if header.is_control else batch.record_count
        self.sound_bytes += batch.unit.size_bytes if is_first else 0
        self.codecs[str(found.codec)] += 1
        self._time(header.max_timestamp_ms)
        expected = self.next_offset
        self.next_offset = max(expected or 0, last_offset + 1)
        if expected is None:
            self.first_offset = batch.first_offset
        elif batch.first_offset > expected:
            self.offsets_not_there += batch.first_offset - expected
            return expected
        # an out-of-order batch fills a hole that was already counted
        elif last_offset < expected - 1:
            self.offsets_not_there -= last_offset + 1 - batch.first_offset
        return None

    def defect(self, defect: Defect, *, is_in_batch: bool) -> None:
        """Count damage.

        Damage inside a valid batch adds no bytes, because the batch's bytes include it.
        """
        self.defects[defect.code] += 1
        if defect.content is None and not is_in_batch:
            self.defect_bytes += defect.size_bytes

    def tail(self, tail: Tail) -> None:
        """Count the bytes after the last batch of a file."""
        self.tails[tail.kind] += 1
        self.tail_bytes += tail.size_bytes

    def add(self, other: "Totals") -> None:
        """Add another partition's counts, except offsets: sums of offsets mean nothing."""
        self._time(other.newest_timestamp_ms)
        for name in {column.name for column in fields(self)} - _NOT_ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def columns(self) -> dict[str, Any]:
        """Return the totals as a mapping, for JSON."""
        values = {column.name: getattr(self, column.name) for column in fields(self)}
        counters = {name: dict(values[name]) for name in ("codecs", "defects", "tails")}
        return {**values, **counters}

    def _time(self, time_ms: int | None) -> None:
        if time_ms is not None and time_ms >= 0:
            self.newest_timestamp_ms = max(self.newest_timestamp_ms or 0, time_ms)


_NOT_ADDED = {"first_offset", "next_offset", "newest_timestamp_ms"}
