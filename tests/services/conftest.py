"""Servers that the tests of this folder share; each starts with the first test that asks."""

import itertools
import os
from collections.abc import Iterator

import pytest

from support import cluster_runs
from support.cluster_runs import Packed
from support.servers import s3_server
from support.servers.hdfs_cluster import HdfsCluster, hdfs_cluster
from support.servers.s3_server import S3Server
from support.servers.spark_cluster import SparkCluster, spark_cluster

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """An S3 server that honours conditions."""
    with s3_server.versitygw(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def bucket(s3: S3Server) -> str:
    """A bucket of the test's own."""
    name = f"bucket-{next(_numbers)}"
    s3.make_bucket(name)
    return name


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    """A name node, and as many data nodes as coded files need.

    With two replicas, a file is closed when the first node has reported its own.
    """
    folder = tmp_path_factory.mktemp("hdfs")
    with hdfs_cluster(folder, data_node_count=5, replication=2) as cluster:
        yield cluster


@pytest.fixture
def hdfs_folder(hdfs: HdfsCluster) -> str:
    """Where on the name node a test may put its files; not made yet."""
    return f"/tests/{next(_numbers)}"


@pytest.fixture(autouse=True)
def _no_hadoop_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests know no Hadoop but what they start."""
    for name in [name for name in os.environ if name.startswith("HADOOP_")]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _no_aws_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests know no keys but those that they name."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    """The environment that `make pack` makes of the working copy."""
    return cluster_runs.packed(tmp_path_factory.mktemp("packed"))


@pytest.fixture(scope="session")
def _started_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path_factory.mktemp("cluster"), worker_count=0) as cluster:
        yield cluster


@pytest.fixture
def small_cluster(_started_cluster: SparkCluster) -> SparkCluster:
    """A cluster with a worker, where a second would show nothing more."""
    if not _started_cluster.running_workers():
        _started_cluster.add_workers(1)
    return _started_cluster


@pytest.fixture
def cluster(_started_cluster: SparkCluster) -> SparkCluster:
    """A cluster with two workers, whatever an earlier test did to them."""
    _started_cluster.add_workers(2 - len(_started_cluster.running_workers()))
    return _started_cluster
