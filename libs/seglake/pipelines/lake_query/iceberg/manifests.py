"""Iceberg manifests for the data files of one version of a table, in memory.

Format: "Manifests" in Iceberg's table specification, version 2 of the format.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Final, cast
from uuid import uuid4

from pyiceberg.conversions import to_bytes
from pyiceberg.io import InputFile, OutputFile
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.typedef import Record
from pyiceberg.types import PrimitiveType

from seglake.errors import SeglakeError
from seglake.lake.snapshots import StoredFile

_FORMAT_VERSION: Final = 2
_CODEC: Final = "deflate"  # every reader of Avro has this codec
# A manifest of this many files has 1.5 MB. Readers skip manifests without their topics.
_FILES_PER_MANIFEST = 10_000


def manifests_of(metadata: TableMetadataV2, files: Sequence[StoredFile]) -> "list[InMemoryFile]":
    """Return the manifests of a table's data files, followed by the list of these manifests.

    Each call makes new names: `VERSION-UUID-INDEX.avro` and `VERSION-UUID-list.avro`.

    Args:
        metadata: the table's metadata; its last sequence number is the version.
        files: the data files of this version, at least one.

    Raises:
        SeglakeError: Delta's log lacks a file's number of rows.
    """
    version = metadata.last_sequence_number
    stem = f"{metadata.location}/metadata/{version}-{uuid4()}"
    in_order = sorted(files, key=lambda file: (file.topic or "", file.path))
    written, described = [], []
    for index, start in enumerate(range(0, len(in_order), _FILES_PER_MANIFEST)):
        output = InMemoryFile(f"{stem}-{index}.avro")
        spec, schema = metadata.spec(), metadata.schema()
        with write_manifest(_FORMAT_VERSION, spec, schema, output, version, _CODEC) as manifest:
            for file in in_order[start : start + _FILES_PER_MANIFEST]:
                manifest.add_entry(_entry(file, schema, version))
        described.append(manifest.to_manifest_file())
        written.append(output)
    listed = InMemoryFile(f"{stem}-list.avro")
    with write_manifest_list(_FORMAT_VERSION, listed, version, None, version, _CODEC) as manifests:
        manifests.add_manifests(described)
    return [*written, listed]


def _entry(file: StoredFile, schema: Schema, version: int) -> ManifestEntry:
    if file.row_count is None:
        raise SeglakeError(f"Delta's log does not say how many rows are in {file.path}")
    # Delta's log has times in milliseconds; the writer of these times may have cut microseconds.
    times = {name: (least, most + 999) for name, (least, most) in file.time_bounds_us.items()}
    known = {**file.bounds, **times}
    partition = Record() if file.topic is None else Record(file.topic)
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED,
        snapshot_id=version,
        data_file=DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=file.path,
            file_format=FileFormat.PARQUET,
            partition=partition,
            record_count=file.row_count,
            file_size_in_bytes=file.size_bytes,
            lower_bounds=_bounds(schema, {name: least for name, (least, _) in known.items()}),
            upper_bounds=_bounds(schema, {name: most for name, (_, most) in known.items()}),
        ),
    )


def _bounds(schema: Schema, values: Mapping[str, int]) -> dict[int, bytes]:
    fields = [(schema.find_field(name), value) for name, value in values.items()]
    # Columns with statistics are never lists.
    return {f.field_id: to_bytes(cast(PrimitiveType, f.field_type), v) for f, v in fields}


class InMemoryFile(OutputFile):
    """Output of pyiceberg that keeps its bytes in `content`; the caller writes them to a file."""

    content = b""

    def __len__(self) -> int:
        """Return the number of bytes."""
        return len(self.content)

    def exists(self) -> bool:
        """Return False, because each output is new."""
        return False

    def to_input_file(self) -> InputFile:
        """Raise NotImplementedError, because nothing reads the output through pyiceberg."""
        raise NotImplementedError

    def create(self, overwrite: bool = False) -> "_Stream":
        """Return the stream whose bytes become `content` when the stream is closed."""
        return _Stream(self)


class _Stream(io.BytesIO):
    def __init__(self, output: InMemoryFile) -> None:
        super().__init__()
        self._output = output

    def close(self) -> None:
        self._output.content = self.getvalue()
        super().close()
