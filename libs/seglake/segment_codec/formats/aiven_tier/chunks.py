"""Decodes chunks of a segment: each is decrypted, then decompressed.

Layout of an encrypted chunk: IV 12 bytes, ciphertext, tag 16 bytes (AES-256-GCM). The additional
authenticated data is in the manifest, one for all chunks. A compressed chunk is one zstd frame.

Source: Aiven-Open/tiered-storage-for-apache-kafka 8fb1581, AesEncryptionProvider.java and
CompressionChunkEnumeration.java.
"""

from collections.abc import Callable

from seglake.segment_codec.formats._zstd import decompress_zstd
from seglake.segment_codec.formats.aiven_tier.data_keys import (
    NO_PACKAGE,
    PrivateKey,
    decrypted_data_key,
)
from seglake.segment_codec.formats.aiven_tier.errors import ChunkError, TierKeyError
from seglake.segment_codec.formats.aiven_tier.manifest import Encryption, Manifest
from seglake.segment_codec.formats.errors import DefectError

_IV_BYTES = 12
_TAG_BYTES = 16

Decrypt = Callable[[bytes | memoryview], bytes]
"""Function that decrypts one chunk, or raises ChunkError."""


def chunk_decryption(encryption: Encryption, key: PrivateKey) -> Decrypt:
    """Return the function that decrypts the chunks of one segment.

    Raises:
        TierKeyError: the key does not decrypt the segment's data key, or `cryptography` is missing.
    """
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise TierKeyError(NO_PACKAGE) from None
    cipher = AESGCM(decrypted_data_key(key, encryption.data_key))

    def decrypt(stored: bytes | memoryview) -> bytes:
        """Return the content of an encrypted chunk."""
        if len(stored) < _IV_BYTES + _TAG_BYTES:
            raise ChunkError(f"an encrypted chunk cannot have only {len(stored)} bytes")
        try:
            plain: bytes = cipher.decrypt(stored[:_IV_BYTES], stored[_IV_BYTES:], encryption.aad)
        except InvalidTag:
            raise ChunkError("its authentication tag is wrong") from None
        return plain

    return decrypt


def decoded_chunk(
    stored: bytes | memoryview, size_bytes: int, manifest: Manifest, decrypt: Decrypt | None
) -> bytes | memoryview:
    """Return the original bytes of a chunk.

    Args:
        stored: bytes of the chunk in the object.
        size_bytes: size of the chunk in the original segment; no more is allocated.
        manifest: the manifest of the segment.
        decrypt: the function that decrypts the chunk; None if it is not encrypted.

    Raises:
        ChunkError: the chunk's tag, frame or size is wrong.
    """
    content = stored if decrypt is None else decrypt(stored)
    if manifest.is_compressed:
        try:
            content = decompress_zstd(memoryview(content), size_bytes)
        except DefectError as error:
            raise ChunkError(f"its compressed bytes are broken ({error.code})") from None
    if len(content) != size_bytes:
        raise ChunkError(f"it has {len(content)} bytes, expected {size_bytes}")
    return content
