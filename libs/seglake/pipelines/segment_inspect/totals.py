"""Adds up what a look into segments found."""

from collections import Counter
from dataclasses import dataclass, field

from seglake.pipelines.segment_inspect.findings import BatchFound, LogSummary
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.segment_codec.segment import Defect, Tail


@dataclass(slots=True)
class Totals:
    """Counts of one partition or, after `add`, of several."""

    size_bytes: int = 0
    segments: int = 0
    batches: int = 0
    control_batches: int = 0
    records: int = 0
    first_offset: int | None = None
    next_offset: int | None = None
    offsets_not_there: int = 0
    newest_timestamp_ms: int | None = None
    sound_bytes: int = 0
    defect_bytes: int = 0
    tail_bytes: int = 0
    codecs: Counter[str] = field(default_factory=Counter)
    defects: Counter[str] = field(default_factory=Counter)
    tails: Counter[str] = field(default_factory=Counter)

    def batch(self, found: BatchFound, first_offset: int, record_count: int) -> int | None:
        """Count a sound batch; the start of a hole before it, None when there is none."""
        self.batches += 1
        self.control_batches += found.is_control
        self.records += 0 if found.is_control else record_count
        self.sound_bytes += found.size_bytes
        self.codecs[str(found.codec)] += 1
        self._time(found.max_timestamp_ms)
        expected = self.next_offset
        self.next_offset = max(expected or 0, found.last_offset + 1)
        if expected is None:
            self.first_offset = first_offset
        elif first_offset > expected:
            self.offsets_not_there += first_offset - expected
            return expected
        elif found.last_offset < expected - 1:  # it came late and lies in a hole counted before
            self.offsets_not_there -= found.last_offset + 1 - first_offset
        return None

    def defect(self, defect: Defect) -> None:
        """Count damage."""
        self.defects[defect.code] += 1
        self.defect_bytes += defect.size_bytes

    def tail(self, tail: Tail) -> None:
        """Count what ends a file."""
        self.tails[tail.kind] += 1
        self.tail_bytes += tail.size_bytes

    def add(self, other: "Totals") -> None:
        """Take in another partition's counts; offsets do not add up and stay out."""
        self.size_bytes += other.size_bytes
        self.segments += other.segments
        self.batches += other.batches
        self.control_batches += other.control_batches
        self.records += other.records
        self.offsets_not_there += other.offsets_not_there
        self.sound_bytes += other.sound_bytes
        self.defect_bytes += other.defect_bytes
        self.tail_bytes += other.tail_bytes
        self._time(other.newest_timestamp_ms)
        self.codecs.update(other.codecs)
        self.defects.update(other.defects)
        self.tails.update(other.tails)

    def summary(
        self,
        path: str,
        kind: PathKind,
        *,
        log_start_offset: int | None,
        high_watermark: int | None,
        notes: tuple[str, ...],
    ) -> LogSummary:
        """The counts as what ends a report."""
        return LogSummary(
            path=path,
            kind=kind,
            size_bytes=self.size_bytes,
            segments=self.segments,
            batches=self.batches,
            control_batches=self.control_batches,
            records=self.records,
            first_offset=self.first_offset,
            next_offset=self.next_offset,
            offsets_not_there=self.offsets_not_there,
            newest_timestamp_ms=self.newest_timestamp_ms,
            codecs=dict(self.codecs),
            defects=dict(self.defects),
            tails=dict(self.tails),
            sound_bytes=self.sound_bytes,
            defect_bytes=self.defect_bytes,
            tail_bytes=self.tail_bytes,
            log_start_offset=log_start_offset,
            high_watermark=high_watermark,
            notes=notes,
        )

    def _time(self, time_ms: int | None) -> None:
        if time_ms is not None and time_ms >= 0:
            self.newest_timestamp_ms = max(self.newest_timestamp_ms or 0, time_ms)
