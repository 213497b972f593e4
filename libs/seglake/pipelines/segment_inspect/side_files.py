"""Inspects index and side files: their entries and their damage."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from seglake.pipelines.segment_inspect.contents import (
    Content,
    EntryFound,
    FileFound,
    SideFileSummary,
)
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.segment_codec.formats.side_files import (
    offset_index,
    producer_snapshot,
    time_index,
    transaction_index,
)
from seglake.segment_codec.formats.side_files.checkpoint_files import (
    CheckpointFileError,
    parse_leader_epochs,
    parse_meta_properties,
    parse_offset_checkpoint,
    parse_partition_metadata,
)
from seglake.segment_codec.formats.side_files.log_dir import parse_file_name
from seglake.storage.storage import Storage

MOST_BYTES = 64 << 20  # well above Kafka's largest index (10 MiB by default)


def _offsets(data: bytes) -> list[dict[str, Any]]:
    offsets = parse_offset_checkpoint(data)
    return [{**key._asdict(), "offset": offset} for key, offset in offsets.items()]


# Parsers of binary files return damage with the entries; those of text files raise an error.
_BINARY: Mapping[PathKind, Callable[[bytes, int], Any]] = {
    PathKind.INDEX: offset_index.parse,
    PathKind.TIMEINDEX: time_index.parse,
    PathKind.TXNINDEX: lambda data, _: transaction_index.parse(data),
    PathKind.SNAPSHOT: lambda data, _: producer_snapshot.parse(data),
}
_TEXT: Mapping[PathKind, Callable[[bytes], Sequence[Any]]] = {
    PathKind.OFFSET_CHECKPOINT: _offsets,
    PathKind.LEADER_EPOCHS: parse_leader_epochs,
    PathKind.PARTITION_METADATA: lambda data: [parse_partition_metadata(data)],
    PathKind.META_PROPERTIES: lambda data: [parse_meta_properties(data)],
}
READ_KINDS = frozenset({*_BINARY, *_TEXT})


def read_side_file(storage: Storage, path: str, kind: PathKind) -> tuple[FileFound, Sequence[Any]]:
    """Return a side file's size and damage, and its entries: named tuples or dicts.

    Args:
        storage: the storage of the file.
        path: the file.
        kind: its kind; a kind without a parser has no entries.

    Raises:
        StorageError: the file cannot be read.
    """
    with storage.open_reader(path) as reader:
        size_bytes = reader.size_bytes
        data = reader.read(0, min(size_bytes, MOST_BYTES))
    segment_file = parse_file_name(path.rsplit("/", 1)[-1])
    base_offset = None if segment_file is None else segment_file.base_offset
    entries, damage = _parsed(data, kind, base_offset or 0)
    if size_bytes > MOST_BYTES:
        damage = f"{size_bytes} bytes; only the first {MOST_BYTES} were read"
    count = len(entries) if kind in READ_KINDS else None
    found = FileFound(path, kind, size_bytes, base_offset, entry_count=count, damage=damage)
    return found, entries


def inspect_side_file(storage: Storage, path: str, kind: PathKind) -> Iterator[Content]:
    """Yield the contents of an index or side file: the file, its entries, a summary."""
    found, entries = read_side_file(storage, path, kind)
    yield found
    for entry in entries:
        yield EntryFound(entry if isinstance(entry, dict) else entry._asdict())
    yield SideFileSummary(found)


def _parsed(data: bytes, kind: PathKind, base_offset: int) -> tuple[Sequence[Any], str | None]:
    """Parse a file of this kind; return its entries, and its damage as text."""
    if kind in _BINARY:
        parsed = _BINARY[kind](data, base_offset)
        return parsed.entries, parsed.damage
    if kind not in _TEXT:
        return (), None
    try:
        return _TEXT[kind](data), None
    except CheckpointFileError as error:
        return (), str(error)
