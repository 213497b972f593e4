"""HDFS as a place for files, as far as no name node is needed; tests/services has some."""

import pickle
import socket

import pytest

from seglake.storage.errors import LakeFolderError, StoreSilentError, UnsupportedUriError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.hdfs_storage import HdfsStorage

_STORAGE = HdfsStorage(HadoopProperties({"dfs.client.failover.max.attempts": "0"}))


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("hdfs://h:9000/a//b/../c/", "hdfs://h:9000/a/c"),
        ("HDFS://h:9000", "hdfs://h:9000/"),
        ("hdfs://h/50%25 and ü", "hdfs://h:8020/50%25 and ü"),
    ],
)
def test_a_path_is_whole_and_percent_signs_are_not_decoded(uri: str, path: str) -> None:
    assert _STORAGE.locate(uri) == path


@pytest.mark.parametrize("uri", ["hdfs:x", "hdfs:///x", "hdfs://me@h/x", "hdfs://h/\0", "/x"])
def test_what_names_no_file_system_is_refused(uri: str) -> None:
    with pytest.raises(UnsupportedUriError):
        _STORAGE.locate(uri)


@pytest.mark.parametrize("name", ["50%", "a b", "ü", "x#y"])
def test_a_lake_is_refused_that_delta_rs_would_write_elsewhere(name: str) -> None:
    with pytest.raises(LakeFolderError, match="letters, digits"):
        _STORAGE.delta_options(f"hdfs://h:1/{name}")


def test_where_nobody_listens_the_store_is_silent_in_a_task_too() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        place = f"hdfs://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(StoreSilentError, match=f"nothing listens at {place}"):
            pickle.loads(pickle.dumps(_STORAGE)).info(f"{place}/x")
