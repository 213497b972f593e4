"""S3 as a place for files, with obstore's own store in memory; tests/services has real servers."""

from typing import BinaryIO

import pytest
from obstore.store import MemoryStore

from seglake.storage import s3_storage
from seglake.storage.errors import FileShrankError, StorageError, UnsupportedUriError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.s3_storage import S3Storage


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> S3Storage:
    store = MemoryStore()
    monkeypatch.setattr(s3_storage, "client_of", lambda access: store)
    return S3Storage(HadoopProperties({}))


def test_store_that_honours_conditions_creates_exclusively(storage: S3Storage) -> None:
    assert storage.creates_exclusively("s3://b/lake/probe")
    assert storage.list_folder("s3://b") == []


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


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("s3://b/key", "s3://b/key"),
        ("s3a://b/key/", "s3://b/key"),
        ("S3A://b//x///y/", "s3://b/x/y"),
        ("s3://b", "s3://b"),
        ("s3://b/", "s3://b"),
        ("s3://b/x/../y/.", "s3://b/y"),
        ("s3://b/50%25 and ü", "s3://b/50%25 and ü"),
    ],
)
def test_both_schemes_become_one_path(uri: str, path: str) -> None:
    assert S3Storage(HadoopProperties()).locate(uri) == path


@pytest.mark.parametrize("uri", ["s3://", "s3:/b/x", "s3:b", "s3:///x", "s3n://b/x", "s3://b/\0"])
def test_what_names_no_bucket_is_refused(uri: str) -> None:
    with pytest.raises(UnsupportedUriError):
        S3Storage(HadoopProperties()).locate(uri)


def test_keys_in_a_uri_are_refused_and_not_shown() -> None:
    with pytest.raises(UnsupportedUriError, match="without a key in it") as caught:
        S3Storage(HadoopProperties()).locate("s3a://AKIA123:verysecret@b/x")
    assert "verysecret" not in str(caught.value)
    assert "AKIA123" not in str(caught.value)
