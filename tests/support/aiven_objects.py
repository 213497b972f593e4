"""Writes segments as Aiven's plugin does: chunks, compressed or encrypted, and a manifest.

It shares no code with the product: the padding of the data key, the sizes of chunks and the
manifest are made here from the plugin's source.
"""

import atexit
import base64
import hashlib
import json
import shutil
import struct
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zstandard

from support import broker_disks

if TYPE_CHECKING:  # an extra: only tests that encrypt need it
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

KEY_ID = "key1"
KEY_IDS = (KEY_ID, "key2")
TOPIC_ID, SEGMENT_ID = "BGL1s22hRCS3TSXe7CKMuw", "QqHRzowuQp23vEdMrB7giA"
_DATA_KEY, _AAD = bytes(range(32)), bytes(range(100, 132))


@dataclass(frozen=True)
class StoredSegment:
    """Objects that the plugin makes of one segment."""

    log: bytes
    manifest: dict[str, Any]  # Any: JSON

    def write(self, folder: Path, start_offset: int = 0) -> Path:
        """Writes the objects into a folder of one partition; returns the manifest's path."""
        folder.mkdir(parents=True, exist_ok=True)
        segment_id = self.manifest["remoteLogSegmentMetadata"]["remoteLogSegmentId"]["id"]
        stem = folder / f"{start_offset:020d}-{segment_id}"
        stem.with_suffix(".log").write_bytes(self.log)
        stem.with_suffix(".indexes").write_bytes(b"")
        path = stem.with_suffix(".rsm-manifest")
        path.write_bytes(json.dumps(self.manifest).encode())
        return path


def key_file(key_id: str = KEY_ID) -> Path:
    """The private key of `32_tier_aiven_enc`, in DER; for another id, a new one of this process."""
    if key_id == KEY_ID:
        return broker_disks.unpacked("32_tier_aiven_enc") / "key1.pkcs8.der"
    return _new_key(key_id)


@cache
def _new_key(key_id: str) -> Path:
    from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    key = generate_private_key(public_exponent=65537, key_size=2048)
    form = Encoding.DER, PrivateFormat.PKCS8, NoEncryption()
    path = folder / f"{key_id}.der"
    path.write_bytes(key.private_bytes(*form))
    return path


@cache
def rsa_key(key_id: str = KEY_ID) -> "RSAPrivateKey":
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    found = load_der_private_key(key_file(key_id).read_bytes(), None)
    assert isinstance(found, RSAPrivateKey)
    return found


def stored(
    log: bytes,
    chunk_bytes: int,
    *,
    compressed: bool = False,
    sizes_in_frames: bool = True,
    encrypted: bool = False,
    key_id: str = KEY_ID,
    start_offset: int = 0,
    end_offset: int = 0,
    **identity: str,
) -> StoredSegment:
    """The objects of a segment; `identity` as in `owner`."""
    pieces = [log[at : at + chunk_bytes] for at in range(0, len(log), chunk_bytes)]
    if compressed:
        compressor = zstandard.ZstdCompressor(write_content_size=sizes_in_frames)
        pieces = [compressor.compress(piece) for piece in pieces]
    if encrypted:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        ivs = [number.to_bytes(12, "big") for number in range(len(pieces))]
        cipher = AESGCM(_DATA_KEY)
        pairs = zip(ivs, pieces, strict=True)
        pieces = [iv + cipher.encrypt(iv, piece, _AAD) for iv, piece in pairs]
    sizes = [len(piece) for piece in pieces]
    index: dict[str, Any] = {"originalChunkSize": chunk_bytes, "originalFileSize": len(log)}
    if compressed:
        packed = zstandard.ZstdCompressor().compress(packed_sizes(sizes))
        index |= {"type": "variable", "transformedChunks": base64.b64encode(packed).decode()}
    else:
        whole = chunk_bytes + (28 if encrypted else 0)
        last = sizes[-1] if sizes else 0
        index |= {"type": "fixed", "transformedChunkSize": whole, "finalTransformedChunkSize": last}
    empty = {"position": 0, "size": 0}
    manifest: dict[str, Any] = {
        "version": "1",
        "chunkIndex": index,
        "segmentIndexes": {
            **dict.fromkeys(["offset", "timestamp", "producerSnapshot", "leaderEpoch"], empty),
            "transaction": None,
        },
        "compression": compressed,
        "remoteLogSegmentMetadata": owner(start_offset, end_offset, **identity),
    }
    if encrypted:
        data_key = base64.b64encode(oaep(_DATA_KEY, key_id=key_id)).decode()
        aad = base64.b64encode(_AAD).decode()
        manifest["encryption"] = {"dataKey": f"{key_id}:{data_key}", "aad": aad}
    return StoredSegment(b"".join(pieces), manifest)


def owner(
    start_offset: int,
    end_offset: int,
    *,
    topic: str = "plain",
    topic_id: str = TOPIC_ID,
    segment_id: str = SEGMENT_ID,
) -> dict[str, Any]:
    """The field `remoteLogSegmentMetadata`."""
    partition = {"topicId": topic_id, "topicPartition": {"topic": topic, "partition": 0}}
    return {
        "remoteLogSegmentId": {"topicIdPartition": partition, "id": segment_id},
        "startOffset": start_offset,
        "endOffset": end_offset,
        "maxTimestampMs": 1795327085766,
        "brokerId": 1,
        "eventTimestampMs": 1795327085993,
        "segmentLeaderEpochs": {"0": start_offset},
        "txnIdxEmpty": True,
    }


def packed_sizes(sizes: Sequence[int], width: int | None = None) -> bytes:
    """Sizes of chunks in the plugin's binary form."""
    head = struct.pack(">i", len(sizes))
    if len(sizes) < 2:
        return head + b"".join(struct.pack(">i", size) for size in sizes)
    *others, last = sizes
    base = min(others)
    width = width or max(1, -(-(max(others) - base).bit_length() // 8))
    values = b"".join((size - base).to_bytes(width, "big") for size in others)
    return head + struct.pack(">ib", base, width) + values + struct.pack(">i", last)


@cache
def oaep(message: bytes, label: bytes = b"", key_id: str = KEY_ID) -> bytes:
    """A message encrypted for `rsa_key`: OAEP, SHA3-512 for the digest and the mask."""
    numbers = rsa_key(key_id).public_key().public_numbers()
    size = -(-numbers.n.bit_length() // 8)
    block = (
        hashlib.sha3_512(label).digest()
        + b"\0" * (size - len(message) - 2 * 64 - 2)
        + b"\1"
        + message
    )
    seed = b"s" * 64
    masked = _xored(block, _mgf1(seed, len(block)))
    padded = b"\0" + _xored(seed, _mgf1(masked, 64)) + masked
    encrypted = pow(int.from_bytes(padded, "big"), numbers.e, numbers.n)
    return int(encrypted).to_bytes(size, "big")


def _mgf1(seed: bytes, size: int) -> bytes:
    found = b""
    for count in range(1 + size // 64):
        found += hashlib.sha3_512(seed + struct.pack(">I", count)).digest()
    return found[:size]


def _xored(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).to_bytes(len(one), "big")


def bytes_of(text: str) -> bytes:
    """The bytes of a text in base64."""
    return base64.b64decode(text)
