"""Manifests: all real ones, and what is refused."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from seglake.segment_codec.formats.aiven_tier.errors import TierObjectError
from seglake.segment_codec.formats.aiven_tier.manifest import MOST_BYTES, parse_manifest
from seglake.segment_codec.formats.side_files.tier_names import object_file
from support import aiven_objects, broker_disks


def manifests() -> list[Path]:
    return [
        path
        for tier in broker_disks.TIERS
        for path in sorted((broker_disks.unpacked(tier) / "remote").rglob("*.rsm-manifest"))
    ]


def test_real_manifests_fit_their_objects() -> None:
    paths = manifests()
    assert len(paths) == 79
    for path in paths:
        manifest, name = parse_manifest(path.read_bytes()), object_file(path.name)
        assert name is not None
        assert manifest.owner is not None
        assert manifest.chunks.stored_bytes == path.with_suffix(".log").stat().st_size
        found = (manifest.owner.start_offset, manifest.owner.segment_id)
        assert found == (name.start_offset, name.segment_id)
        folder = f"{manifest.owner.topic}-{manifest.owner.topic_id}"
        assert path.parts[-3:-1] == (folder, str(manifest.owner.partition))


def content(**changes: Any) -> dict[str, Any]:
    return aiven_objects.stored(b"a" * 100, 30).manifest | changes


def chunks(**changes: Any) -> dict[str, Any]:
    manifest = content()
    return manifest | {"chunkIndex": manifest["chunkIndex"] | changes}


def test_unknown_fields_and_no_owner_are_accepted() -> None:
    manifest = content(later="field", remoteLogSegmentMetadata=None)
    assert parse_manifest(json.dumps(manifest).encode()).owner is None
    del manifest["remoteLogSegmentMetadata"]
    assert parse_manifest(json.dumps(manifest).encode()).owner is None


def packed(sizes: list[int]) -> str:
    """Sizes of chunks as a manifest has them."""
    frame = zstandard.ZstdCompressor().compress(aiven_objects.packed_sizes(sizes))
    return base64.b64encode(frame).decode()


def owned(**changes: Any) -> dict[str, Any]:
    return content(remoteLogSegmentMetadata=aiven_objects.owner(5, 9) | changes)


_AAD = "ab" * 16
_MIDDLE_IS_LONGER = packed([30, 31, 30, 10])
_REFUSED: list[tuple[object, str]] = [
    (chunks(type="variable", transformedChunks=_MIDDLE_IS_LONGER), "chunks of 101 bytes"),
    ([], "the manifest is not a JSON object"),
    (content(version="2"), "version '2' is unknown"),
    (content(version=1), "version is not a text"),
    (content(compression=0), "compression is not true or false"),
    (content(chunkIndex=None), "chunkIndex is not a JSON object"),
    (chunks(type="other"), "chunkIndex.type 'other' is unknown"),
    (chunks(originalChunkSize=0), "originalChunkSize is not a number from 1"),
    (chunks(originalChunkSize=True), "originalChunkSize is not a whole number"),
    (chunks(originalFileSize=-1), "originalFileSize is not a number from 0"),
    (chunks(originalFileSize=2**31), "originalFileSize is not a number from 0 to 2147483647"),
    (chunks(originalFileSize=101), "chunks of 100 bytes for a segment of 101, expected 101"),
    (chunks(transformedChunkSize=31), "chunks of 103 bytes for a segment of 100"),
    (chunks(transformedChunkSize=28, finalTransformedChunkSize=16), "chunks of 100 bytes"),
    (chunks(type="variable", transformedChunks="%"), "transformedChunks is no base64"),
    (chunks(type="variable", transformedChunks="AAAA"), "transformedChunks is no zstd frame"),
    (content(encryption={"dataKey": "a", "aad": _AAD}), "dataKey is not of the form"),
    (content(encryption={"dataKey": ":YQ==", "aad": _AAD}), "dataKey is not of the form"),
    (content(encryption={"dataKey": "a:YQ==", "aad": "YQ=="}), "aad has 1 bytes, expected 32"),
    (owned(endOffset=4), "endOffset is not a number from 5"),
    (owned(segmentLeaderEpochs={"x": 5}), "an epoch of segmentLeaderEpochs is no number"),
    (owned(remoteLogSegmentId={}), "topicIdPartition is not a JSON object"),
]


@pytest.mark.parametrize(("manifest", "reason"), _REFUSED)
def test_refusal_names_the_field(manifest: object, reason: str) -> None:
    with pytest.raises(TierObjectError, match=reason):
        parse_manifest(json.dumps(manifest).encode())


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"[" * 100_000, b"{" + b" " * MOST_BYTES, b"9" * 9999]
)
def test_hostile_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(TierObjectError):
        parse_manifest(data)


def test_data_keys_are_not_shown() -> None:
    manifest = aiven_objects.stored(b"a" * 100, 30, encrypted=True).manifest
    shown = repr(parse_manifest(json.dumps(manifest).encode()))
    assert "key_id='key1'" in shown
    assert "data_key" not in shown
    assert "aad" not in shown
