"""Selects the findings to show: from an offset on, up to a limit, or the damage alone.

Pure. Everything is walked and counted all the same, so that a summary is that of the whole.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from seglake.errors import WrongCallError
from seglake.pipelines.segment_inspect.batch_facts import BatchFound, DefectFound
from seglake.pipelines.segment_inspect.findings import (
    EntryFound,
    FileFound,
    Finding,
    HoleFound,
    LogSummary,
    RecordFound,
    RestFound,
    Summary,
    TailFound,
)
from seglake.pipelines.segment_inspect.path_kinds import FOLDER_KINDS, SEGMENT_KINDS, PathKind

RecordChoice = Callable[[BatchFound], bool]
"""Decides whether a batch's records are wanted, after the batch was shown."""

_KINDS: Mapping[type, str] = {
    BatchFound: "batch",
    RecordFound: "record",
    EntryFound: "entry",
    DefectFound: "defect",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Part that a person requests; the default is everything.

    Attributes:
        from_offset: the first offset shown.
        limit: at most so many records, if records are shown, else batches, entries of an index or
            side file, or partitions of a log dir; of damage alone, so many defects.
    """

    from_offset: int | None = None
    limit: int | None = None
    only_defects: bool = False

    def __post_init__(self) -> None:
        for name, value in (("from_offset", self.from_offset), ("limit", self.limit)):
            if value is not None and value < 0:
                raise WrongCallError(f"{name} is a number from 0 on, got {value}")

    @property
    def is_everything(self) -> bool:
        return self == Part()


class ShownPart:
    """Lets through what is asked for, and counts what a limit leaves out.

    Args:
        records: records are shown too.
        is_brief: of a log dir only its partitions are shown, and their damage.
    """

    def __init__(self, part: Part, *, records: bool, is_brief: bool) -> None:
        self._part = part
        self._records = records
        self._is_brief = is_brief
        self._shown = 0
        self._left: Counter[str] = Counter()
        self._has_damage = False  # the partition that is shown

    @property
    def _is_full(self) -> bool:
        return self._part.limit is not None and self._shown >= self._part.limit

    def wants_records(self, batch: BatchFound) -> bool:
        """Return whether records of a batch are to be decoded; else they are only counted."""
        if not self._records or self._part.only_defects or not self._is_in_part(batch):
            return False
        if self._is_full:
            self._left["record"] += batch.record_count or 0
        return not self._is_full

    def of(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the findings to show in order; before the end, the count that a limit left out."""
        if self._part.is_everything:
            yield from findings
            return
        last: Finding | None = None
        held: list[Finding] = []  # the line of a segment, and what a damaged batch claims
        for finding in findings:
            if last is not None:
                yield last
                last = None
            if isinstance(finding, Summary):
                held.clear()
                last = finding if self._takes_summary(finding) else None
            elif _is_held(finding):
                held = [*(held if isinstance(finding, BatchFound) else ()), finding]
            elif self._takes(finding):
                yield from (*held, finding)
                held.clear()
            elif isinstance(finding, DefectFound | TailFound):
                held = [line for line in held if isinstance(line, FileFound)]
        if self._left:
            yield RestFound(dict(self._left), self._part.limit or 0)
        if last is not None:
            yield last

    def _takes(self, finding: Finding) -> bool:
        """Return whether a finding is shown; one that is not, for the limit, is counted."""
        if not self._is_in_part(finding):
            return False
        is_damaged_file = isinstance(finding, FileFound) and finding.damage is not None
        self._has_damage |= is_damaged_file or isinstance(finding, DefectFound | TailFound)
        kind = _KINDS.get(type(finding))
        if self._is_brief:  # the partitions are counted, by their summaries
            return not self._is_full
        if kind is None:
            return isinstance(finding, FileFound) or not self._is_full
        if self._is_full:
            self._left[kind] += 1
            return False
        self._shown += kind in self._counted_kinds
        return True

    def _takes_summary(self, summary: Finding) -> bool:
        if not isinstance(summary, LogSummary) or summary.kind is not PathKind.PARTITION_FOLDER:
            return True
        has_damage, self._has_damage = self._has_damage, False
        if self._is_brief and self._part.only_defects and not (has_damage or summary.notes):
            return False
        if self._is_brief and self._is_full:
            self._left["partition"] += 1
            return False
        self._shown += self._is_brief
        return True

    @property
    def _counted_kinds(self) -> tuple[str, ...]:
        if self._part.only_defects:
            return ("defect",)
        return ("record" if self._records else "batch", "entry")

    def _is_in_part(self, finding: Finding) -> bool:
        first, only_defects = self._part.from_offset or 0, self._part.only_defects
        match finding:
            case FileFound():
                is_kept = finding.damage is not None or finding.kind in FOLDER_KINDS
                return not only_defects or is_kept
            case BatchFound():
                return not only_defects and finding.last_offset >= first
            case HoleFound():
                return not only_defects and finding.next_offset > first
            case DefectFound():
                return finding.next_offset is None or finding.next_offset > first
            case RecordFound():
                return finding.record.offset >= first
            case EntryFound():
                offset = finding.fields.get("offset")
                return not only_defects and not (isinstance(offset, int) and offset < first)
            case _:
                return True


def _is_held(finding: Finding) -> bool:
    """Return whether a finding is shown only with what follows it."""
    if isinstance(finding, FileFound):
        return finding.kind in SEGMENT_KINDS and finding.skipped is None
    return isinstance(finding, BatchFound) and finding.decoded is None
