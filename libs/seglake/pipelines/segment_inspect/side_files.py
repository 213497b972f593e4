"""Index and side files: their entries, and what is wrong with them. Effect: reads."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import NamedTuple

from seglake.pipelines.segment_inspect.findings import FileFound, Report, SideFileSummary
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.segment_codec import offset_index, producer_snapshot, time_index, transaction_index
from seglake.segment_codec.checkpoint_files import (
    CheckpointFileError,
    parse_leader_epochs,
    parse_meta_properties,
    parse_offset_checkpoint,
    parse_partition_metadata,
)
from seglake.segment_codec.log_dir import parse_file_name
from seglake.segment_codec.producer_snapshot import ProducerState
from seglake.storage.storage import Storage

MOST_BYTES = 64 << 20  # Kafka's own largest index is 10 MiB unless it was told otherwise

Row = dict[str, object]


class SideFile(NamedTuple):
    """The content of an index or side file, read; `rows` make one dict per entry when iterated."""

    found: FileFound
    entries: Sequence[object]

    def rows(self) -> Iterator[Row]:
        """The entries by the names of their fields."""
        return (_row(entry) for entry in self.entries)


def read_side_file(storage: Storage, path: str, kind: PathKind) -> SideFile:
    """Read a side file of any kind; one that is no such file has no entries and its damage said.

    Raises:
        StorageError: it cannot be read.
    """
    name = path.rsplit("/", 1)[-1]
    with storage.open_reader(path) as reader:
        size_bytes = reader.size_bytes
        data = reader.read(0, min(size_bytes, MOST_BYTES))
    segment_file = parse_file_name(name)
    base_offset = None if segment_file is None else segment_file.base_offset
    entries, damage = _parsed(data, kind, base_offset or 0)
    if size_bytes > MOST_BYTES:
        damage = f"{size_bytes} bytes, of which only the first {MOST_BYTES} were read"
    count = None if kind is PathKind.UNKNOWN else len(entries)
    return SideFile(FileFound(path, kind, size_bytes, base_offset, count, damage), entries)


def inspect_side_file(storage: Storage, path: str, kind: PathKind, report: Report) -> None:
    """Show an index or side file entry by entry."""
    file = read_side_file(storage, path, kind)
    report.file(file.found)
    for row in file.rows():
        report.entry(row)
    found = file.found
    report.summary(
        SideFileSummary(path, kind, found.size_bytes, len(file.entries), found.damage, ())
    )


def _parsed(data: bytes, kind: PathKind, base_offset: int) -> tuple[Sequence[object], str | None]:
    """The entries of a file, and its damage."""
    parsed: (
        offset_index.OffsetIndex
        | time_index.TimeIndex
        | transaction_index.TransactionIndex
        | producer_snapshot.ProducerSnapshot
    )
    match kind:
        case PathKind.INDEX:
            parsed = offset_index.parse(data, base_offset)
        case PathKind.TIMEINDEX:
            parsed = time_index.parse(data, base_offset)
        case PathKind.TXNINDEX:
            parsed = transaction_index.parse(data)
        case PathKind.SNAPSHOT:
            parsed = producer_snapshot.parse(data)
        case _:
            try:
                return _parsed_text(data, kind), None
            except CheckpointFileError as error:
                return (), str(error)
    return parsed.entries, parsed.damage


def _parsed_text(data: bytes, kind: PathKind) -> Sequence[object]:
    match kind:
        case PathKind.OFFSET_CHECKPOINT:
            offsets = parse_offset_checkpoint(data)
            return [PartitionOffset(*key, offset) for key, offset in offsets.items()]
        case PathKind.LEADER_EPOCHS:
            return parse_leader_epochs(data)
        case PathKind.PARTITION_METADATA:
            return [parse_partition_metadata(data)]
        case PathKind.META_PROPERTIES:
            return [parse_meta_properties(data)]
        case PathKind.UNKNOWN:
            return ()
        case _:
            raise TypeError(f"no side file: {kind}")


class PartitionOffset(NamedTuple):
    """A line of an offset checkpoint."""

    topic: str
    partition: int
    offset: int


def _row(entry: object) -> Row:
    if isinstance(entry, ProducerState):
        return {each.name: getattr(entry, each.name) for each in fields(entry)}
    return dict(entry._asdict())  # type: ignore[attr-defined]  # all others are named tuples
