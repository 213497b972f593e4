"""S3 as a place for files, with obstore's own store in memory; tests/services has real servers."""

import pytest

from seglake.storage.errors import UnsupportedUriError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.s3_storage import S3Storage


def test_store_that_honours_conditions_creates_exclusively(storage: S3Storage) -> None:
    assert storage.creates_exclusively("s3://b/lake/probe")
    assert storage.list_folder("s3://b") == []


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
    with pytest.raises(UnsupportedUriError, match="without a key") as caught:
        S3Storage(HadoopProperties()).locate("s3a://AKIA123:verysecret@b/x")
    assert "verysecret" not in str(caught.value)
    assert "AKIA123" not in str(caught.value)
