"""Where HDFS paths lead, and what a person reads where a ticket is missing; no server is needed."""

import pytest

from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.hdfs_access import access_of, located

_VIEW = "fs.viewfs.mounttable.view."


@pytest.mark.parametrize(
    ("text", "umask"), [("027", 0o027), ("77", 0o077), ("u=rwx", 0o022), ("", 0o022)]
)
def test_umask_is_octal(text: str, umask: int) -> None:
    properties = HadoopProperties({"fs.permissions.umask-mode": text})
    assert access_of("hdfs://h:1/a", properties).umask == umask


def test_a_client_gives_silent_name_nodes_half_a_minute_unless_it_is_told_otherwise() -> None:
    attempts, sleep_ms = "dfs.client.failover.max.attempts", "dfs.client.failover.sleep.max.millis"
    config = dict(access_of("hdfs://h:1/a", HadoopProperties({})).config)
    assert 30_000 <= int(config[attempts]) * int(config[sleep_ms]) <= 35_000
    told = {attempts: "3", sleep_ms: "70"}
    assert told.items() <= {*access_of("hdfs://h:1/a", HadoopProperties(told)).config}


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("hdfs://h/a", "hdfs://h:8020/a"),
        ("hdfs://prod/a", "hdfs://prod/a"),
        ("hdfs:///a", "hdfs://prod/a"),
    ],
)
def test_location_becomes_a_whole_path(uri: str, path: str) -> None:
    names = {"fs.defaultFS": "hdfs://prod/", "dfs.ha.namenodes.prod": "a,b"}
    assert located(uri, HadoopProperties(names)) == path


@pytest.mark.parametrize(
    ("path", "server"),
    [
        ("hdfs://h:9000/a", "hdfs://h:9000"),
        ("viewfs://view/a/b/c", "hdfs://deep"),
        ("viewfs://view/a/bc", "hdfs://one:8020"),
        ("viewfs://view/other", "hdfs://rest:9000"),
        ("viewfs://strange/a", "viewfs://strange"),
    ],
)
def test_name_node_behind_a_path_is_that_of_its_longest_link(path: str, server: str) -> None:
    known = {
        f"{_VIEW}link./a": "hdfs://one/x",
        f"{_VIEW}link./a/b": "hdfs://deep/y",
        f"{_VIEW}linkFallback": "hdfs://rest:9000/",
        "dfs.ha.namenodes.deep": "a,b",
    }
    assert access_of(path, HadoopProperties(known)).server == server
