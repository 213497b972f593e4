"""Reads of objects and the putting of them, with obstore's own store in memory."""

from typing import BinaryIO

import pytest

from seglake.storage.errors import FileShrankError, StorageError
from seglake.storage.s3_storage import S3Storage


def test_reader_never_mixes_two_objects(storage: S3Storage) -> None:
    storage.write_bytes("s3://b/file", b"abcdef")
    with storage.open_reader("s3://b/file") as reader:
        assert reader.read(0, 3) == b"abc"
        storage.write_bytes("s3://b/file", b"ABCDEF" * 2)
        with pytest.raises(StorageError, match="it was replaced while it was read"):
            reader.read(3, 3)


def test_reader_says_when_the_object_became_shorter(storage: S3Storage) -> None:
    storage.write_bytes("s3://b/file", b"abcdef")
    with storage.open_reader("s3://b/file") as reader:
        storage.write_bytes("s3://b/file", b"ab")
        with pytest.raises(FileShrankError):
            reader.read(0, 6)


def _fail_half_way(output: BinaryIO) -> None:
    with output:
        output.write(b"half")
        raise KeyError


def test_block_that_fails_puts_no_object(storage: S3Storage) -> None:
    with pytest.raises(KeyError):
        _fail_half_way(storage.open_output("s3://b/file"))
    assert storage.info("s3://b/file") is None
