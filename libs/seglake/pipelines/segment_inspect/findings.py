"""What is found in files, as values, and the shape of what shows them.

The fields of a batch and of a defect are those columns of the tables `batches` and `quarantine`
that need no run, in their order.
"""

from typing import NamedTuple, Protocol

from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.segment_codec.errors import TailKind
from seglake.segment_codec.record import RecordHeader


class Origin(NamedTuple):
    """Whose a file is, as far as the names and files around it tell."""

    source_id: str | None = None
    topic_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    broker_id: int | None = None


class FileFound(NamedTuple):
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


class BatchFound(NamedTuple):
    """A batch, or what the header of a damaged one claims (`valid` is False then)."""

    source_id: str | None
    topic_id: str | None
    topic: str | None
    partition: int | None
    base_offset: int | None
    last_offset: int
    record_count: int | None
    magic: int
    codec: str | None
    size_bytes: int
    uncompressed_bytes: int | None
    timestamp_type: int
    base_timestamp_ms: int | None
    max_timestamp_ms: int | None
    delete_horizon_ms: int | None
    leader_epoch: int | None
    producer_id: int | None
    producer_epoch: int | None
    base_sequence: int | None
    is_transactional: bool
    is_control: bool
    control_type: str | None
    crc: int
    broker_id: int | None
    segment: str
    position: int
    valid: bool


class DefectFound(NamedTuple):
    """Damaged bytes. `raw` are as many of them as a quarantine row keeps by default."""

    source_id: str | None
    topic_id: str | None
    topic: str | None
    partition: int | None
    broker_id: int | None
    segment: str
    position: int
    length_bytes: int
    defect_code: str
    defect_detail: str
    base_offset: int | None
    last_offset: int | None
    record_count: int | None
    magic: int | None
    codec: str | None
    expected_crc: int | None
    computed_crc: int | None
    previous_offset: int | None
    next_offset: int | None
    raw: bytes
    raw_sha256: str
    raw_is_complete: bool
    kafka_would_truncate: bool


class TailFound(NamedTuple):
    """Bytes behind the last batch of a file that are not damage."""

    topic: str | None
    partition: int | None
    segment: str
    kind: TailKind
    position: int
    size_bytes: int


class RecordFound(NamedTuple):
    """One record; a header's key and a null value are as in Kafka."""

    topic: str | None
    partition: int | None
    offset: int
    timestamp_ms: int | None
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[RecordHeader, ...]


class SideFileSummary(NamedTuple):
    """The end of a look into an index or side file."""

    path: str
    kind: PathKind
    size_bytes: int
    entry_count: int
    damage: str | None
    notes: tuple[str, ...]


class LogSummary(NamedTuple):
    """The end of a look into a segment, a partition folder or a log dir.

    `offsets_not_there` are those between the first and the last sound batch that no sound batch
    spans, `next_offset` is the end of the last. Sound, damaged and tail bytes add up to the bytes
    of the segments.
    """

    path: str
    kind: PathKind
    size_bytes: int
    segments: int
    batches: int
    control_batches: int
    records: int
    first_offset: int | None
    next_offset: int | None
    offsets_not_there: int
    newest_timestamp_ms: int | None
    codecs: dict[str, int]
    defects: dict[str, int]
    tails: dict[str, int]
    sound_bytes: int
    defect_bytes: int
    tail_bytes: int
    log_start_offset: int | None
    high_watermark: int | None
    notes: tuple[str, ...]


class SearchSummary(NamedTuple):
    """The end of a search for an offset; what was not found on the way is None.

    `index_offset` and `index_position` are the index entry at or below the offset,
    `walked_batches` counts the batches between its position and the answer.
    """

    path: str
    kind: PathKind
    offset: int
    found: bool
    segment: str | None
    index_offset: int | None
    index_position: int | None
    walked_batches: int
    batch_base_offset: int | None
    batch_position: int | None
    notes: tuple[str, ...]


Summary = SideFileSummary | LogSummary | SearchSummary


class Report(Protocol):
    """Shows what is found, as it comes."""

    def file(self, found: FileFound) -> None: ...

    def batch(self, found: BatchFound, marks: tuple[str, ...]) -> None:
        """A batch; `marks` are words for a person on where it stands in the log."""

    def hole(self, start_offset: int, next_offset: int) -> None:
        """Offsets that no sound batch spans, before the next batch."""

    def defect(self, found: DefectFound) -> None:
        """Damage; the claims of its header, if it has one, were shown just before."""

    def tail(self, found: TailFound) -> None: ...

    def record(self, found: RecordFound) -> None: ...

    def entry(self, fields: dict[str, object]) -> None:
        """A line of an index or side file, by the names of its fields."""

    def summary(self, found: Summary) -> None: ...
