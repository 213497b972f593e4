"""A nameservice works whichever of its name nodes is dead or silent."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from lake.hadoop_properties import HadoopProperties
from lake.hdfs_access import access_of
from lake.hdfs_storage import HdfsStorage
from support.hdfs_runs import DISK, LOCAL, names_of, seglake
from support.servers.hdfs_cluster import HdfsCluster, write_conf
from support.servers.processes import LOOPBACK

pytestmark = [pytest.mark.hdfs, pytest.mark.timeout(900)]  # the JARs may have to be fetched

_FIRST = "dfs.namenode.rpc-address.prod.nn1"
_NAMES = "dfs.ha.namenodes.prod"
_VIEW = "fs.viewfs.mounttable.view."


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a host that takes connections and never answers."""
    with socket.create_server((LOOPBACK, 0)) as server:
        yield f"{LOOPBACK}:{server.getsockname()[1]}"


@pytest.mark.parametrize("lake", ["hdfs://prod/x", "viewfs://view/lakes/x", "viewfs://view/x"])
def test_delta_rs_is_given_the_active_name_node_first(
    hdfs: HdfsCluster, silent: str, lake: str
) -> None:
    view = {
        f"{_VIEW}link./lakes": "hdfs://prod/data",
        f"{_VIEW}link./la": "hdfs://elsewhere",
        f"{_VIEW}linkFallback": "hdfs://prod/",
    }
    for more in ({}, {_FIRST: silent}, {"dfs.client.failover.random.order": "true"}):
        storage = HdfsStorage(HadoopProperties(names_of(hdfs) | view | more))
        told = storage.delta_options(lake)
        assert told[_NAMES] == "nn2,nn1"
        assert told["dfs.client.failover.random.order"] == "false"


def test_silent_name_node_is_passed_over(hdfs: HdfsCluster, silent: str, tmp_path: Path) -> None:
    conf = write_conf(tmp_path, {"fs.defaultFS": "hdfs://prod", **names_of(hdfs), _FIRST: silent})
    for said in ("2070 records", "nothing new"):
        places = ("--source", str(DISK), "--lake", "hdfs://prod/data/passed-over")
        ended = seglake({"HADOOP_CONF_DIR": str(conf)}, "ingest", *places, *LOCAL, seconds=60)
        assert ended.code == 0, ended.errors
        assert ended.out.startswith(said)


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
