"""Contents of files as values, in the order in which they are shown."""

from dataclasses import dataclass
from typing import NamedTuple

from seglake.pipelines.segment_inspect.batch_facts import BatchFound, DefectFound, Origin
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.pipelines.segment_inspect.totals import Totals
from seglake.segment_codec.formats.defects import Tail
from seglake.segment_codec.formats.record import Record
from seglake.segment_codec.formats.side_files.log_dir import SkipReason


@dataclass(frozen=True, slots=True)
class FileFound:
    """An inspected file or folder; values that do not apply are None.

    `damage` explains what is wrong with a side file, `skipped` why a file is not part of the log.
    """

    path: str
    kind: PathKind
    size_bytes: int
    base_offset: int | None = None
    entry_count: int | None = None
    damage: str | None = None
    skipped: str | None = None

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def is_removed_segment(self) -> bool:
        """Return whether the file is a nonempty segment that is no longer part of its log."""
        is_removed = self.skipped in (SkipReason.DELETED, SkipReason.REPLACED_BY_SWAP)
        return self.kind is PathKind.LOG and is_removed and self.size_bytes > 0


class HoleFound(NamedTuple):
    """Hole: offsets before a valid batch that no other valid batch has.

    `is_explained`: compaction removed them, they are below the log start, earlier damage
    hides them, or they are in a segment that is not read.
    """

    start_offset: int
    next_offset: int
    is_explained: bool = False


class TailFound(NamedTuple):
    """Bytes after the last batch of a file that are not damage."""

    tail: Tail
    origin: Origin


class RecordFound(NamedTuple):
    """A record of the last shown batch."""

    record: Record
    timestamp_type: int  # Kafka's number, as in `batches`
    origin: Origin


class EntryFound(NamedTuple):
    """An entry of an index or side file, by the names of its fields."""

    fields: dict[str, object]


class SideFileSummary(NamedTuple):
    """End of the inspection of an index or side file."""

    file: FileFound


@dataclass(frozen=True, slots=True)
class LogSummary:
    """End of the inspection of a segment, a partition folder or a log dir.

    Attributes:
        path: the inspected path.
        kind: its kind.
        totals: counts of its contents.
        notes: facts for a person.
        log_start_offset: log start of the partition; None if unknown.
        high_watermark: high watermark of the partition; None if unknown.
        unread_segments: number of segments that exist only as compressed files.
    """

    path: str
    kind: PathKind
    totals: Totals
    notes: tuple[str, ...]
    log_start_offset: int | None = None
    high_watermark: int | None = None
    unread_segments: int = 0


Summary = SideFileSummary | LogSummary
Content = (
    FileFound
    | BatchFound
    | HoleFound
    | DefectFound
    | TailFound
    | RecordFound
    | EntryFound
    | Summary
)
"""Contents to show; a batch that a defect's header claims directly precedes the defect."""
