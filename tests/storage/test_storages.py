"""The scheme of a path says which storage serves it."""

import pickle
from pathlib import Path

import pytest

from seglake.storage.errors import StorageError, StoreSilentError, UnsupportedUriError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.storages import Storages

_STORAGES = Storages(HadoopProperties({"fs.s3a.endpoint": "http://h:1"}))


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("/data/x/", "/data/x"),
        ("/data/12:30/x", "/data/12:30/x"),  # a colon makes no scheme of a path
        ("file:///data/x", "/data/x"),
        ("FILE:/data/x", "/data/x"),
        ("s3a://b/x", "s3://b/x"),
        ("HDFS://h/x", "hdfs://h:8020/x"),
        ("viewfs://view/x", "viewfs://view/x"),
    ],
)
def test_every_scheme_is_located_by_its_own_rules(uri: str, path: str) -> None:
    assert _STORAGES.locate(uri) == path


@pytest.mark.parametrize("uri", ["ftp://h/x", "gs://b/x", "c:\\x"])
def test_other_schemes_are_refused_with_all_that_work(uri: str) -> None:
    with pytest.raises(UnsupportedUriError) as caught:
        _STORAGES.locate(uri)
    said = str(caught.value)
    assert all(f" {scheme}" in said for scheme in ("a plain path", "file:", "s3:", "hdfs:"))


def test_places_of_several_kinds_are_served_side_by_side(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    again = pickle.loads(pickle.dumps(_STORAGES))
    again.write_bytes(path, b"x")
    again.sync([path, "hdfs://h:1/file"])  # nothing is to be done for the second
    assert again.read_bytes(path) == b"x"
    assert again.delta_options(path) == {}
    assert again.delta_options("s3://b/lake")["aws_endpoint_url"] == "http://h:1"
    assert again.hadoop_uri("s3://b/lake") == "s3a://b/lake"


def test_errors_of_delta_rs_are_read_as_the_paths_storage_means_them() -> None:
    text = "Connection refused"
    assert type(_STORAGES.failure("list", "hdfs://h:1/x", text)) is StoreSilentError
    assert type(_STORAGES.failure("list", "/data/x", text)) is StorageError
