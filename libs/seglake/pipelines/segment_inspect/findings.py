"""Findings in files, as values, in the order in which they are shown."""

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
    """A file or folder that is looked into; what does not apply is None.

    `damage` is what is wrong with a side file, `skipped` why a file does not count.
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
    """Offsets that no valid batch spans, before the next batch.

    `is_explained`: compaction removed them, they lie below the log start, or damage found before
    the batch hides them.
    """

    start_offset: int
    next_offset: int
    is_explained: bool = False


class TailFound(NamedTuple):
    """Bytes behind the last batch of a file that are not damage."""

    tail: Tail
    origin: Origin


class RecordFound(NamedTuple):
    """A record of the batch that was found last."""

    record: Record
    timestamp_type: int  # Kafka's number, as in `batches`
    origin: Origin


class EntryFound(NamedTuple):
    """A line of an index or side file, by the names of its fields."""

    fields: dict[str, object]


class SideFileSummary(NamedTuple):
    """The end of a look into an index or side file."""

    file: FileFound


@dataclass(frozen=True, slots=True)
class LogSummary:
    """The end of a look into a segment, a partition folder or a log dir.

    Attributes:
        unread_segments: number of segments that are there in a compressed form only.
    """

    path: str
    kind: PathKind
    totals: Totals
    notes: tuple[str, ...]
    log_start_offset: int | None = None
    high_watermark: int | None = None
    unread_segments: int = 0


Summary = SideFileSummary | LogSummary
Finding = (
    FileFound
    | BatchFound
    | HoleFound
    | DefectFound
    | TailFound
    | RecordFound
    | EntryFound
    | Summary
)
"""A batch that a defect's header claims comes just before the defect."""
