"""Chunks of all four kinds, and what is wrong with damaged ones."""

import json
from functools import cache
from itertools import product

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from seglake.segment_codec.formats.aiven_tier.chunks import Decrypt, chunk_decryption, decoded_chunk
from seglake.segment_codec.formats.aiven_tier.data_keys import private_key
from seglake.segment_codec.formats.aiven_tier.errors import ChunkError
from seglake.segment_codec.formats.aiven_tier.manifest import Encryption, parse_manifest
from support import aiven_objects


@cache
def decryption(encryption: Encryption) -> Decrypt:
    return chunk_decryption(encryption, private_key(aiven_objects.key_file().read_bytes()))


def decoded(segment: aiven_objects.StoredSegment) -> bytes:
    manifest = parse_manifest(json.dumps(segment.manifest).encode())
    assert manifest.chunks.stored_bytes == len(segment.log)
    decrypt = None
    if manifest.encryption is not None:
        decrypt = decryption(manifest.encryption)
    parts = []
    for chunk in map(manifest.chunks.chunk, range(len(manifest.chunks))):
        stop = chunk.stored_position + chunk.stored_bytes
        stored = segment.log[chunk.stored_position : stop]
        parts.append(decoded_chunk(stored, chunk.size_bytes, manifest, decrypt))
    return b"".join(parts)


@given(log=st.binary(max_size=300), data=st.data())
def test_every_kind_and_chunk_size_gives_the_segment(log: bytes, data: st.DataObject) -> None:
    chunk_bytes = data.draw(st.integers(1, len(log) + 1))
    for compressed, encrypted in product([False, True], repeat=2):
        segment = aiven_objects.stored(log, chunk_bytes, compressed=compressed, encrypted=encrypted)
        assert decoded(segment) == log


def damaged(segment: aiven_objects.StoredSegment, place: int) -> aiven_objects.StoredSegment:
    log = bytearray(segment.log)
    log[place] ^= 1
    return aiven_objects.StoredSegment(bytes(log), segment.manifest)


@pytest.mark.parametrize("place", [0, 11, 12, -17, -16, -1])
def test_flipped_bit_of_an_encrypted_chunk_is_found(place: int) -> None:
    segment = aiven_objects.stored(b"a" * 100, 100, encrypted=True)
    with pytest.raises(ChunkError, match="its authentication tag is wrong"):
        decoded(damaged(segment, place))


def test_broken_frame_is_found() -> None:
    segment = aiven_objects.stored(b"abc" * 100, 300, compressed=True)
    with pytest.raises(ChunkError, match="its compressed bytes are broken"):
        decoded(damaged(segment, 0))


@pytest.mark.parametrize("size", [299, 301, 1 << 26])
def test_frame_of_another_size_is_refused(size: int) -> None:
    segment = aiven_objects.stored(b"abc" * 100, 300, compressed=True)
    frame = zstandard.ZstdCompressor().compress(bytes(size))
    manifest = parse_manifest(json.dumps(segment.manifest).encode())
    with pytest.raises(ChunkError, match=r"expected 300|decompression_limit"):
        decoded_chunk(frame, 300, manifest, None)
