"""Manifest of a segment: a JSON object that describes how the segment is stored.

Fields that are read, of version "1"::

    chunkIndex        type fixed | variable, originalChunkSize, originalFileSize, and
                      fixed: transformedChunkSize, finalTransformedChunkSize
                      variable: transformedChunks, base64 of a zstd frame of `chunk_index`
    segmentIndexes    {position, size} of each index in the object .indexes; null if absent
    compression       whether chunks are compressed
    encryption        absent, or dataKey "<key id>:<base64>", aad base64
    remoteLogSegmentMetadata   identity of the segment; may be absent: the plugin never reads it

Other fields are ignored: newer brokers add some.

Source: Aiven-Open/tiered-storage-for-apache-kafka 8fb1581, SegmentManifestV1.java.
"""

import base64
import binascii
import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from seglake.segment_codec.formats._zstd import decompress_zstd
from seglake.segment_codec.formats.aiven_tier.chunk_index import (
    ChunkIndex,
    fixed_index,
    variable_index,
)
from seglake.segment_codec.formats.aiven_tier.errors import TierObjectError
from seglake.segment_codec.formats.errors import DefectError
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart

MOST_BYTES = 16 << 20
"""Highest accepted size of a manifest, in bytes."""

ENCRYPTED_EXTRA_BYTES = 28
"""Bytes that encryption adds to a chunk: 12 before it, 16 after it."""

# Limit of chunkIndex.transformedChunks when decompressed, as in the plugin.
_MOST_PACKED_BYTES = 10 << 20
_AAD_BYTES = 32
_MOST_INT32 = (1 << 31) - 1
_MOST_INT64 = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Encryption:
    """Encryption of a segment: one data key for all chunks, itself encrypted with a key pair."""

    key_id: str
    data_key: bytes = field(repr=False)
    aad: bytes = field(repr=False)


class SegmentOwner(NamedTuple):
    """Identity of a segment in its manifest; the inclusive `end_offset` may have no record."""

    topic: str
    partition: int
    topic_id: str
    segment_id: str
    start_offset: int
    end_offset: int
    broker_id: int | None
    epochs: tuple[EpochStart, ...]


class Manifest(NamedTuple):
    """Content of a manifest; `owner` is None if the manifest lacks it."""

    chunks: ChunkIndex
    is_compressed: bool
    encryption: Encryption | None
    owner: SegmentOwner | None

    @property
    def is_plain(self) -> bool:
        """Return whether the object has the bytes of the segment without encoding."""
        return not self.is_compressed and self.encryption is None


def parse_manifest(data: bytes) -> Manifest:
    """Parse a manifest.

    Raises:
        TierObjectError: the text is no manifest of a known version, or contradicts itself.
    """
    if len(data) > MOST_BYTES:
        raise TierObjectError(f"{len(data)} bytes, more than a manifest can have ({MOST_BYTES})")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise TierObjectError("the manifest is not JSON") from None
    fields = _Fields("", content)
    version = fields.text("version")
    if version != "1":
        raise TierObjectError(f"version {version!r} is unknown, expected '1'")
    encryption = fields.optional("encryption")
    owner = fields.optional("remoteLogSegmentMetadata")
    manifest = Manifest(
        chunks=_chunks(fields.struct("chunkIndex")),
        is_compressed=fields.flag("compression"),
        encryption=None if encryption is None else _encryption(encryption),
        owner=None if owner is None else _owner(owner),
    )
    _check_sizes(manifest)
    return manifest


class _Fields:
    """Fields of a JSON object, with checks of their types."""

    def __init__(self, name: str, content: object) -> None:
        if not isinstance(content, dict):
            raise TierObjectError(f"{name or 'the manifest'} is not a JSON object")
        self._name = name
        self._content: dict[str, Any] = content  # Any: values may be of any JSON type

    def number(self, name: str, least: int = 0, most: int = _MOST_INT32) -> int:
        """Return the whole number of a field; raise TierObjectError unless in [least, most]."""
        value = self._content.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(name, "a whole number")
        if not least <= value <= most:
            raise self._wrong(name, f"a number from {least} to {most}")
        return value

    def optional_number(self, name: str) -> int | None:
        """Return a field's whole number; None if the field is absent or null."""
        return None if self._content.get(name) is None else self.number(name)

    def text(self, name: str) -> str:
        """Return the text of a field."""
        value = self._content.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def flag(self, name: str) -> bool:
        """Return the boolean of a field."""
        value = self._content.get(name)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def binary(self, name: str) -> bytes:
        """Return the bytes of a field whose text is base64."""
        return decoded_base64(self._path(name), self.text(name))

    def struct(self, name: str) -> "_Fields":
        """Return the fields of a nested JSON object."""
        return _Fields(self._path(name), self._content.get(name))

    def optional(self, name: str) -> "_Fields | None":
        """Return the fields of the object in a field; None if the field is absent or null."""
        return None if self._content.get(name) is None else self.struct(name)

    def items(self) -> list[tuple[str, Any]]:
        """Return the names and values of all fields."""
        return list(self._content.items())

    def _path(self, name: str) -> str:
        return f"{self._name}.{name}" if self._name else name

    def _wrong(self, name: str, expected: str) -> TierObjectError:
        return TierObjectError(f"{self._path(name)} is not {expected}")


def decoded_base64(name: str, text: str) -> bytes:
    """Decode padded base64; raise TierObjectError for any other text."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise TierObjectError(f"{name} is no base64") from None


def _chunks(fields: _Fields) -> ChunkIndex:
    """Return the chunk index of a manifest: each chunk's position in segment and object."""
    kind = fields.text("type")
    sizes = fields.number("originalChunkSize", 1), fields.number("originalFileSize")
    if kind == "fixed":
        stored = fields.number("transformedChunkSize", 1)
        return fixed_index(*sizes, stored, fields.number("finalTransformedChunkSize"))
    if kind != "variable":
        raise TierObjectError(f"chunkIndex.type {kind!r} is unknown, expected fixed or variable")
    packed = memoryview(fields.binary("transformedChunks"))
    try:
        return variable_index(*sizes, decompress_zstd(packed, _MOST_PACKED_BYTES))
    except DefectError:
        raise TierObjectError(
            f"chunkIndex.transformedChunks is no zstd frame of up to {_MOST_PACKED_BYTES} bytes"
        ) from None


def _encryption(fields: _Fields) -> Encryption:
    """Return the encryption in a manifest; its data key is still encrypted."""
    key_id, colon, data_key = fields.text("dataKey").partition(":")
    if not colon or not key_id:
        raise TierObjectError("encryption.dataKey is not of the form <key id>:<base64>")
    aad = fields.binary("aad")
    if len(aad) != _AAD_BYTES:
        raise TierObjectError(f"encryption.aad has {len(aad)} bytes, expected {_AAD_BYTES}")
    return Encryption(key_id, decoded_base64("encryption.dataKey", data_key), aad)


def _owner(fields: _Fields) -> SegmentOwner:
    """Return the identity of the segment in a manifest."""
    ids = fields.struct("remoteLogSegmentId")
    topic_ids = ids.struct("topicIdPartition")
    name = topic_ids.struct("topicPartition")
    epochs = fields.struct("segmentLeaderEpochs")
    start_offset = fields.number("startOffset", most=_MOST_INT64)
    try:
        starts = [
            EpochStart(int(epoch), epochs.number(epoch, most=_MOST_INT64))
            for epoch, _ in epochs.items()
        ]
    except ValueError:
        raise TierObjectError("an epoch of segmentLeaderEpochs is no number") from None
    return SegmentOwner(
        topic=name.text("topic"),
        partition=name.number("partition"),
        topic_id=topic_ids.text("topicId"),
        segment_id=ids.text("id"),
        start_offset=start_offset,
        end_offset=fields.number("endOffset", start_offset, _MOST_INT64),
        broker_id=fields.optional_number("brokerId"),
        epochs=tuple(sorted(starts)),
    )


def _check_sizes(manifest: Manifest) -> None:
    """Raise TierObjectError if the chunks' sizes in the manifest are impossible."""
    if manifest.is_compressed:
        return
    extra = 0 if manifest.encryption is None else ENCRYPTED_EXTRA_BYTES
    chunks = manifest.chunks
    expected = chunks.size_bytes + extra * len(chunks)
    if chunks.stored_bytes != expected or any(
        place.stored_bytes != place.size_bytes + extra
        for place in map(chunks.chunk, {0, len(chunks) - 1} if len(chunks) else ())
    ):
        raise TierObjectError(
            f"chunks of {chunks.stored_bytes} bytes for a segment of {chunks.size_bytes}, "
            f"expected {expected}"
        )
