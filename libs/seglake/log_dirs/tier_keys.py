"""Reads private keys of encrypted tiers, in the tasks that read segments."""

from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from seglake.log_dirs.errors import WrongSourceError
from seglake.segment_codec.formats.aiven_tier.chunks import Decrypt, chunk_decryption
from seglake.segment_codec.formats.aiven_tier.data_keys import PrivateKey, private_key
from seglake.segment_codec.formats.aiven_tier.errors import TierKeyError
from seglake.segment_codec.formats.aiven_tier.manifest import Encryption
from seglake.storage.errors import StorageError
from seglake.storage.storage import Storage

_KEYS: dict[str, PrivateKey] = {}
"""Keys in this process that have decrypted a segment, by path; their files are not read again."""


class TierKeys(NamedTuple):
    """Paths of private keys by key id; the keys themselves are not stored."""

    paths: tuple[tuple[str, str], ...] = ()

    def decryption(self, storage: Storage, encryption: Encryption) -> Decrypt:
        """Return the function that decrypts the chunks of a segment.

        Raises:
            TierKeyError: no key has the segment's key id, or the key does not decrypt it.
        """
        key_id = encryption.key_id
        paths = dict(self.paths)
        path = paths.get(
            key_id, paths.get(key_id.lower())
        )  # Spark converts option names to lower case
        if path is None:
            given = f" (given: {', '.join(sorted(paths))})" if paths else ""
            raise TierKeyError(
                f"the segment is encrypted with key {key_id}: give --tiered-key "
                f"{key_id}=FILE{given}"
            )
        _require_path(key_id, path)
        known = _KEYS.get(path)
        try:
            if known is not None:
                with suppress(TierKeyError):  # the file may have another key now
                    return _decryption(encryption, known)
            key = _key_at(storage, path)
            decrypt = _decryption(encryption, key)
        except TierKeyError as error:
            raise TierKeyError(f"the file of key {key_id}, {path}: {error.reason}") from None
        _KEYS[path] = key
        return decrypt

    def check(self, storage: Storage) -> None:
        """Read each key once, to check that it is usable.

        Raises:
            WrongSourceError: a file does not exist, or has no readable private key.
        """
        for key_id, path in self.paths:
            try:
                _require_path(key_id, path)
                _require_key(storage, key_id, path)
            except TierKeyError as error:
                raise WrongSourceError(error.reason) from None


def _require_key(storage: Storage, key_id: str, path: str) -> None:
    """Reject a file without a readable private key."""
    try:
        _key_at(storage, path)
    except TierKeyError as error:
        raise TierKeyError(f"the file of key {key_id}, {path}: {error.reason}") from None


def _require_path(key_id: str, path: str) -> None:
    """Reject a key given instead of its path, and keep it out of the message."""
    if "-----BEGIN" in path or "\n" in path:
        raise TierKeyError(f"key {key_id}: this is the key itself, give the path of its file")


def _key_at(storage: Storage, path: str) -> PrivateKey:
    """Return the private key in a file."""
    try:
        content = storage.read_bytes(storage.locate(path))
    except StorageError as error:
        raise TierKeyError(f"the file cannot be read: {error.reason}") from None
    return _parsed(content)


@lru_cache(maxsize=1024)
def _decryption(encryption: Encryption, key: PrivateKey) -> Decrypt:
    """Return the cached function that decrypts a segment's chunks."""
    return chunk_decryption(encryption, key)


@lru_cache(maxsize=8)
def _parsed(content: bytes) -> PrivateKey:
    """Parse a private key; the result is cached, since this takes longer than reading a segment."""
    return private_key(content)
