"""The reader of chunks gives the original bytes, in few requests, and knows its holes."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.log_dirs.chunked_reader import ChunkedReader
from seglake.log_dirs.errors import WrongSourceError
from seglake.log_dirs.tier_keys import TierKeys
from seglake.log_dirs.tier_segments import open_chunked, read_manifest
from seglake.segment_codec.formats.aiven_tier.errors import TierKeyError, TierObjectError
from seglake.segment_codec.formats.aiven_tier.manifest import Manifest, parse_manifest
from seglake.segment_codec.walk.holes import Hole
from seglake.storage.local_storage import LocalStorage
from support import aiven_objects

_STORAGE = LocalStorage()
_KEYS = TierKeys((("key1", str(aiven_objects.key_file())),))
_KINDS = list(product([False, True], repeat=2))


class Stored:
    """An object in memory that notes its requests."""

    def __init__(self, content: bytes) -> None:
        self.size_bytes = len(content)
        self.requests: list[tuple[int, int]] = []
        self._content = content

    def read(self, position: int, length: int) -> bytes:
        self.requests.append((position, length))
        return self._content[position : position + length]

    def __enter__(self) -> "Stored":
        return self

    def __exit__(self, *raised: object) -> None:
        self.requests.append((-1, -1))


def manifest_of(segment: aiven_objects.StoredSegment) -> Manifest:
    return parse_manifest(json.dumps(segment.manifest).encode())


def opened(segment: aiven_objects.StoredSegment, stored: Stored) -> ChunkedReader:
    manifest = manifest_of(segment)
    encryption = manifest.encryption
    decrypt = None if encryption is None else _KEYS.decryption(_STORAGE, encryption)
    return ChunkedReader(stored, manifest, decrypt)


@pytest.mark.parametrize(("compressed", "encrypted"), _KINDS)
@given(log=st.binary(min_size=1, max_size=200), data=st.data())
def test_every_range_is_that_of_the_segment(
    compressed: bool, encrypted: bool, log: bytes, data: st.DataObject
) -> None:
    chunk_bytes = data.draw(st.integers(1, len(log) + 1))
    segment = aiven_objects.stored(log, chunk_bytes, compressed=compressed, encrypted=encrypted)
    reader = opened(segment, Stored(segment.log))
    assert reader.size_bytes == len(log)
    for _ in range(3):
        position = data.draw(st.integers(0, len(log) + 1))
        length = data.draw(st.integers(0, len(log) + 1))
        assert reader.read(position, length) == log[position : position + length]
    assert reader.holes_in(0, len(log)) == []


@pytest.mark.parametrize(("compressed", "encrypted"), _KINDS[1:])
def test_run_of_chunks_is_one_request_and_the_last_one_is_kept(
    compressed: bool, encrypted: bool
) -> None:
    log = bytes(range(200))
    segment = aiven_objects.stored(log, 30, compressed=compressed, encrypted=encrypted)
    stored = Stored(segment.log)
    reader = opened(segment, stored)
    assert reader.read(5, 100) == log[5:105]
    assert reader.read(100, 20) == log[100:120]
    assert len(stored.requests) == 1
    assert reader.read(119, 2) == log[119:121]
    assert len(stored.requests) == 2


def cut(segment: aiven_objects.StoredSegment, size: int) -> aiven_objects.StoredSegment:
    return aiven_objects.StoredSegment(segment.log[:size], segment.manifest)


def test_wrong_tag_is_a_hole_of_one_chunk() -> None:
    log = bytes(range(100))
    segment = aiven_objects.stored(log, 30, encrypted=True)
    damaged = bytearray(segment.log)
    damaged[58 + 57] ^= 1  # the last byte of the second chunk
    reader = opened(segment, Stored(bytes(damaged)))
    assert reader.read(0, 100) == log[:30] + b"\xff" * 30 + log[60:]
    reason = "its authentication tag is wrong"
    assert reader.holes_in(0, 100) == [Hole(30, 30, reason)]
    assert [reader.holes_in(*bounds) for bounds in ((0, 30), (60, 100))] == [[], []]
    assert reader.stored_bytes(0, 100, 1000) == (bytes(damaged[58:116]), True)
    assert reader.stored_bytes(40, 45, 10) == (bytes(damaged[58:68]), False)
    assert reader.stored_bytes(60, 100, 10) == (b"", True)


@pytest.mark.parametrize(("compressed", "encrypted"), _KINDS)
def test_what_a_cut_object_lacks_is_a_hole(compressed: bool, encrypted: bool) -> None:
    log = bytes(range(100))
    segment = aiven_objects.stored(log, 30, compressed=compressed, encrypted=encrypted)
    size = manifest_of(segment).chunks.chunk(2).stored_position + 5
    reader = opened(cut(segment, size), Stored(segment.log[:size]))
    whole = 60 if compressed or encrypted else 65
    assert reader.read(0, 100) == log[:whole] + b"\xff" * (100 - whole)
    holes = reader.holes_in(0, 100)
    assert (holes[0].position, sum(hole.size_bytes for hole in holes)) == (whole, 100 - whole)
    assert {hole.reason for hole in holes} == {
        f"the object ends at {size}, its manifest says {len(segment.log)}"
    }
    assert reader.read(90, 5) == b"\xff" * 5


def written(tmp_path: Path, segment: aiven_objects.StoredSegment) -> Path:
    return segment.write(tmp_path / "plain-BGL1s22hRCS3TSXe7CKMuw" / "0")


def test_segment_is_opened_by_its_manifest(tmp_path: Path) -> None:
    path = written(tmp_path, aiven_objects.stored(b"abc" * 50, 40, compressed=True, encrypted=True))
    manifest = read_manifest(_STORAGE, str(path))
    log = str(path.with_suffix(".log"))
    with open_chunked(_STORAGE, log, manifest, _KEYS) as reader:
        assert reader.read(0, 1000) == b"abc" * 50
    with pytest.raises(TierKeyError, match="key key1: give --tiered-key key1=FILE"):
        open_chunked(_STORAGE, log, manifest, TierKeys())


class CountedKeys(LocalStorage):
    """A local disk that counts how often a file is read as a whole."""

    reads = 0

    def read_bytes(self, path: str) -> bytes:
        self.reads += 1
        return super().read_bytes(path)


def test_a_key_s_file_is_read_once_and_again_if_its_key_fits_no_more(tmp_path: Path) -> None:
    file, storage = tmp_path / "key.der", CountedKeys()
    file.write_bytes(b"no key")
    keys = TierKeys((("key1", str(file)),))
    segments = [manifest_of(aiven_objects.stored(b"a", 1, encrypted=True)) for _ in range(3)]
    one, other, damaged = (each.encryption for each in segments)
    assert one is not None
    assert other is not None
    assert damaged is not None
    with pytest.raises(TierKeyError):
        keys.decryption(storage, one)
    file.write_bytes(aiven_objects.key_file().read_bytes())
    for encryption in (one, other, one):
        keys.decryption(storage, encryption)
    assert storage.reads == 2
    with pytest.raises(TierKeyError, match="encrypted for another key"):
        keys.decryption(storage, replace(damaged, data_key=b"\0" * len(damaged.data_key)))
    assert storage.reads == 3


def test_chunks_that_are_too_large_are_refused(tmp_path: Path) -> None:
    huge = (64 << 20) + 1
    segment = aiven_objects.stored(b"a", 1, encrypted=True)
    sizes = {"originalChunkSize": huge, "originalFileSize": huge}
    stored = {"transformedChunkSize": huge + 28, "finalTransformedChunkSize": huge + 28}
    manifest = segment.manifest | {"chunkIndex": {"type": "fixed", **sizes, **stored}}
    path = written(tmp_path, aiven_objects.StoredSegment(segment.log, manifest))
    found = read_manifest(_STORAGE, str(path))
    with pytest.raises(TierObjectError, match="at most 67108864 are supported"):
        open_chunked(_STORAGE, str(path.with_suffix(".log")), found, _KEYS)


def test_unreadable_key_is_named_without_its_content(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    keys = TierKeys((("key1", str(file)),))
    with pytest.raises(
        WrongSourceError, match=f"the file of key key1, {file}: the file cannot be read"
    ):
        keys.check(_STORAGE)
    file.write_bytes(b"-----BEGIN PUBLIC KEY-----\nsecret")
    with pytest.raises(WrongSourceError, match="the file has a public key") as raised:
        keys.check(_STORAGE)
    assert "secret" not in str(raised.value)
