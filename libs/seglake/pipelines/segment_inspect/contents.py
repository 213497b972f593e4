"""Contents of files as values, in the order in which they are shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.pipelines.segment_inspect.batch_facts import BatchFound, DefectFound, Origin
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.pipelines.segment_inspect.totals import Totals
from seglake.segment_codec.formats.defects import Tail
from seglake.segment_codec.formats.record import Record
from seglake.segment_codec.formats.side_files.log_dir import SkipReason


@dataclass(frozen=True, slots=True)
class FileFound:
    """An inspected file or folder; values that do not apply are None.

    `damage` explains damage of a side file; `skipped` explains why a file is not part of the log.
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
        """Return the file's name: the last part of its path."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def is_removed_segment(self) -> bool:
        """Return whether the file is a nonempty segment that is no longer part of its log."""
        is_removed = self.skipped in (SkipReason.DELETED, SkipReason.REPLACED_BY_SWAP)
        return self.kind is PathKind.LOG and is_removed and self.size_bytes > 0


class HoleFound(NamedTuple):
    """Offsets before a valid batch that no valid batch has.

    `is_explained` is True if compaction removed the offsets, if they are below the log start, if
    damage before the batch hides them, or if they are in a segment that is not read. `origin` is
    that of the batch.
    """

    start_offset: int
    next_offset: int
    origin: Origin
    is_explained: bool = False


class TailFound(NamedTuple):
    """Undamaged bytes after the last batch of a file."""

    tail: Tail
    origin: Origin


class RecordFound(NamedTuple):
    """Record of the batch that was shown last."""

    record: Record
    timestamp_type: int  # Kafka's number, as in `batches`
    origin: Origin


class EntryFound(NamedTuple):
    """Entry of an index or side file; its fields by their names."""

    fields: dict[str, object]


@dataclass(frozen=True, slots=True)
class SideFileSummary:
    """End of the inspection of an index, a side file or a folder of a remote tier.

    Attributes:
        file: the file or folder.
        findings_by_kind: number of findings by kind.
    """

    file: FileFound
    findings_by_kind: Mapping[FindingKind, int] = field(default_factory=dict)

    @property
    def kind(self) -> PathKind:
        """Return the kind of the file or folder."""
        return self.file.kind


@dataclass(frozen=True, slots=True)
class LogSummary:
    """End of the inspection of a segment, a partition folder or a log dir.

    Attributes:
        path: the inspected path.
        kind: kind of the file or folder.
        totals: counts of the contents.
        log_start_offset: log start of the partition; None if unknown.
        high_watermark: high watermark of the partition; None if unknown.
        unread_segments: number of segments that exist only as compressed files.
        findings_by_kind: number of findings by kind, including findings that are not shown.
    """

    path: str
    kind: PathKind
    totals: Totals
    log_start_offset: int | None = None
    high_watermark: int | None = None
    unread_segments: int = 0
    findings_by_kind: Mapping[FindingKind, int] = field(default_factory=dict)


Summary = SideFileSummary | LogSummary
FileContent = (
    FileFound
    | BatchFound
    | HoleFound
    | DefectFound
    | TailFound
    | RecordFound
    | EntryFound
    | Summary
)
"""Items in a file. A batch with a defect's claims precedes the defect."""

Content = FileContent | Finding
"""Contents to show. A finding among them is about a folder, or about a file that is not shown."""
