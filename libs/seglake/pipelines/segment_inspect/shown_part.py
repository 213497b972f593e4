"""Selects the findings to show: of some offsets, or the damage alone.

Pure. Everything is walked and counted all the same, so that a summary is that of the whole; but
for one offset, as a broker does, only the batches from the offset index's entry to behind it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from seglake.errors import WrongCallError
from seglake.pipelines.segment_inspect.batch_facts import BatchFound, DefectFound
from seglake.pipelines.segment_inspect.findings import (
    EntryFound,
    FileFound,
    Finding,
    HoleFound,
    LogSummary,
    RecordFound,
    Summary,
    TailFound,
)
from seglake.pipelines.segment_inspect.path_kinds import FOLDER_KINDS, SEGMENT_KINDS, PathKind

_END = 1 << 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Part that a person requests; the default is everything.

    Attributes:
        offset: what is at this offset only.
        from_offset: the first offset shown.
    """

    offset: int | None = None
    from_offset: int | None = None
    only_defects: bool = False

    def __post_init__(self) -> None:
        for name, value in (("from_offset", self.from_offset), ("offset", self.offset)):
            if value is not None and value < 0:
                raise WrongCallError(f"{name} is a number from 0 on, got {value}")
        has_other = self.only_defects or self.from_offset is not None
        if self.offset is not None and has_other:
            raise WrongCallError("an offset is looked up alone, without --from or --only-defects")

    @property
    def is_everything(self) -> bool:
        return self == Part()

    @property
    def is_of_offsets(self) -> bool:
        return self.offset is not None or self.from_offset is not None

    @property
    def range(self) -> tuple[int, int]:
        """Return the offsets that are shown; half-open."""
        if self.offset is not None:
            return self.offset, self.offset + 1
        return self.from_offset or 0, _END


class ShownPart:
    """Lets through what is asked for.

    Args:
        records: records are shown too; that at a single offset always is.
        is_brief: of a log dir only its partitions are shown, and their damage.

    Attributes:
        is_found: a record, or a marker, of the part was shown.
    """

    def __init__(self, part: Part, *, records: bool, is_brief: bool) -> None:
        self._part = part
        self._records = records or part.offset is not None
        self._is_brief = is_brief
        self._has_damage = False  # the partition that is shown
        self.is_found = False

    @property
    def offset(self) -> int | None:
        """Return the only offset that is shown, if there is one."""
        return self._part.offset

    @property
    def run_breaks(self) -> tuple[int, ...]:
        """Return offsets to cut runs of messages at, so that one is shown alone."""
        return () if self._part.offset is None else self._part.range

    def wants_records(self, batch: BatchFound) -> bool:
        """Return whether records of a batch are to be decoded; else they are only counted."""
        return self._records and not self._part.only_defects and self._is_in_part(batch)

    def of(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the findings to show, in order."""
        if self._part.is_everything:
            yield from findings
            return
        held: list[Finding] = []  # the line of a segment, and what a damaged batch claims
        for finding in findings:
            if isinstance(finding, Summary):
                held.clear()
                if self._takes_summary(finding):
                    yield self._summary(finding)
            elif _is_held(finding):
                held = [*(held if isinstance(finding, BatchFound) else ()), finding]
            elif self._is_in_part(finding):
                self._note(finding)
                yield from (*held, finding)
                held.clear()
            elif isinstance(finding, DefectFound | TailFound):
                held = [line for line in held if isinstance(line, FileFound)]

    def _note(self, finding: Finding) -> None:
        is_damaged_file = isinstance(finding, FileFound) and finding.damage is not None
        self._has_damage |= is_damaged_file or isinstance(finding, DefectFound | TailFound)
        is_marker = isinstance(finding, BatchFound) and finding.control_type is not None
        self.is_found |= is_marker or isinstance(finding, RecordFound)

    def _takes_summary(self, summary: Finding) -> bool:
        if not isinstance(summary, LogSummary) or summary.kind is not PathKind.PARTITION_FOLDER:
            return True
        has_damage, self._has_damage = self._has_damage, False
        is_damaged = has_damage or bool(summary.notes)
        return is_damaged or not (self._is_brief and self._part.only_defects)

    def _summary(self, summary: Finding) -> Finding:
        if self._part.offset is None or self.is_found or not isinstance(summary, LogSummary):
            return summary
        return replace(summary, notes=(*summary.notes, f"no record has offset {self._part.offset}"))

    def _is_in_part(self, finding: Finding) -> bool:
        start, stop = self._part.range
        only_defects = self._part.only_defects
        match finding:
            case FileFound():
                is_kept = finding.damage is not None or finding.kind in FOLDER_KINDS
                return is_kept or not (only_defects or self._part.offset is not None)
            case BatchFound():
                first = finding.last_offset if finding.base_offset is None else finding.base_offset
                return not only_defects and finding.last_offset >= start and first < stop
            case HoleFound():
                is_there = finding.next_offset > start and finding.start_offset < stop
                return not only_defects and is_there
            case DefectFound(previous_offset=before, next_offset=after):
                return (after is None or after > start) and (before is None or before < stop - 1)
            case RecordFound():
                return start <= finding.record.offset < stop
            case EntryFound():
                offset = finding.fields.get("offset")
                return not only_defects and not (isinstance(offset, int) and offset < start)
            case _:
                return self._part.offset is None


def _is_held(finding: Finding) -> bool:
    """Return whether a finding is shown only with what follows it."""
    if isinstance(finding, FileFound):
        return finding.kind in SEGMENT_KINDS and finding.skipped is None
    return isinstance(finding, BatchFound) and finding.decoded is None
