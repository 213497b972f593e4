"""Selects the contents that an inspection shows: all, some offsets, or only damage.

All contents are walked and counted, so that the summary covers everything. There is one exception:
for a single offset, the walk is as short as in a broker, from the entry in the offset index to the
first batch after the offset.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from seglake.errors import WrongCallError
from seglake.findings.findings import Finding
from seglake.pipelines.segment_inspect.batch_facts import BatchFound, DefectFound
from seglake.pipelines.segment_inspect.contents import (
    Content,
    EntryFound,
    FileFound,
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
        offset: the only offset to show; None for all.
        from_offset: the first offset to show; None for all.
        only_defects: whether to show damage only.
    """

    offset: int | None = None
    from_offset: int | None = None
    only_defects: bool = False

    def __post_init__(self) -> None:
        """Raise WrongCallError for a negative offset, or for options that exclude each other."""
        for name, value in (("from_offset", self.from_offset), ("offset", self.offset)):
            if value is not None and value < 0:
                raise WrongCallError(f"{name} must be a number from 0 on, got {value}")
        has_other = self.only_defects or self.from_offset is not None
        if self.offset is not None and has_other:
            raise WrongCallError("--offset excludes --from, --to and --only-defects")

    @property
    def is_everything(self) -> bool:
        """Return whether no part was requested, so that all contents are shown."""
        return self == Part()

    @property
    def is_of_offsets(self) -> bool:
        """Return whether a person requested some offsets only."""
        return self.offset is not None or self.from_offset is not None

    @property
    def range(self) -> tuple[int, int]:
        """Return the requested offsets as a half-open range."""
        if self.offset is not None:
            return self.offset, self.offset + 1
        return self.from_offset or 0, _END


class ShownPart:
    """Filter for requested contents.

    Attributes:
        is_found: whether a record or a marker at the requested offsets was shown.
    """

    def __init__(self, part: Part, *, records: bool, is_brief: bool) -> None:
        """Prepare the filter.

        Args:
            part: the requested part.
            records: whether to show records too; the record at a single offset is always shown.
            is_brief: whether to show only a log dir's partitions and their damage.
        """
        self._part = part
        self._records = records or part.offset is not None
        self._is_brief = is_brief
        self._has_damage = False  # whether the current partition has damage
        self.is_found = False

    @property
    def offset(self) -> int | None:
        """Return the single requested offset; None if there is none."""
        return self._part.offset

    @property
    def run_breaks(self) -> tuple[int, ...]:
        """Return offsets at which to cut runs of old messages, to show one message alone."""
        return () if self._part.offset is None else self._part.range

    def wants_records(self, batch: BatchFound) -> bool:
        """Return whether a batch's records are decoded; if not, they are only counted."""
        return self._records and not self._part.only_defects and self._is_in_part(batch)

    def of(self, contents: Iterable[Content]) -> Iterator[Content]:
        """Yield the requested ones of these contents, in order."""
        if self._part.is_everything:
            yield from contents
            return
        held: list[Content] = []  # lines to show only if an item after them is shown
        for content in contents:
            if isinstance(content, Summary):
                held.clear()
                if self._includes_summary(content):
                    yield content
            elif isinstance(content, Finding):
                self._has_damage = True
                yield content
            elif _is_held(content):
                held = [*(held if isinstance(content, BatchFound) else ()), content]
            elif self._is_in_part(content):
                self._note(content)
                yield from (*held, content)
                held.clear()
            elif isinstance(content, DefectFound | TailFound):
                held = [line for line in held if isinstance(line, FileFound)]

    def _note(self, content: Content) -> None:
        is_damaged_file = isinstance(content, FileFound) and content.damage is not None
        self._has_damage |= is_damaged_file or isinstance(content, DefectFound | TailFound)
        is_marker = isinstance(content, BatchFound) and content.control_type is not None
        self.is_found |= is_marker or isinstance(content, RecordFound)

    def _includes_summary(self, summary: Content) -> bool:
        if not isinstance(summary, LogSummary) or summary.kind is not PathKind.PARTITION_FOLDER:
            return True
        has_damage, self._has_damage = self._has_damage, False
        return has_damage or not (self._is_brief and self._part.only_defects)

    def _is_in_part(self, content: Content) -> bool:
        start, stop = self._part.range
        only_defects = self._part.only_defects
        match content:
            case FileFound():
                is_kept = content.damage is not None or content.kind in FOLDER_KINDS
                return is_kept or not (only_defects or self._part.offset is not None)
            case BatchFound():
                first = content.last_offset if content.base_offset is None else content.base_offset
                return not only_defects and content.last_offset >= start and first < stop
            case HoleFound():
                is_there = content.next_offset > start and content.start_offset < stop
                return not only_defects and is_there
            case DefectFound(previous_offset=before, next_offset=after):
                return (after is None or after > start) and (before is None or before < stop - 1)
            case RecordFound():
                return start <= content.record.offset < stop
            case EntryFound():
                offset = content.fields.get("offset")
                return not only_defects and not (isinstance(offset, int) and offset < start)
            case _:
                return self._part.offset is None


def _is_held(content: Content) -> bool:
    """Return whether an item is shown only if the next item is shown."""
    if isinstance(content, FileFound):
        return content.kind in SEGMENT_KINDS and content.skipped is None
    return isinstance(content, BatchFound) and content.decoded is None
