"""A nameservice works whichever of its name nodes is dead or silent."""

import os
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.hdfs_storage import HdfsStorage
from support.hdfs_runs import DISK, LOCAL, fetched, ingested_in_waves, names_of
from support.made_logs import made_records, make_log_dir
from support.remote_runs import in_process, ingested_at
from support.servers.hadoop_programs import write_conf
from support.servers.hdfs_cluster import HdfsCluster
from support.servers.hdfs_pair import HdfsPair, hdfs_pair
from support.servers.processes import LOOPBACK
from support.taken import records_taken

pytestmark = [pytest.mark.hdfs, pytest.mark.timeout(900)]  # the JARs may have to be fetched

_BEFORE_SECONDS = 5
_FIRST = "dfs.namenode.rpc-address.prod.nn1"
_NAMES = "dfs.ha.namenodes.prod"
_VIEW = "fs.viewfs.mounttable.view."


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a host that takes connections and never answers."""
    with socket.create_server((LOOPBACK, 0)) as server:
        yield f"{LOOPBACK}:{server.getsockname()[1]}"


@pytest.fixture(scope="module")
def _started_pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsPair]:
    with hdfs_pair(tmp_path_factory.mktemp("pair")) as pair:
        yield pair


@pytest.fixture
def pair(_started_pair: HdfsPair) -> HdfsPair:
    """Two name nodes that stand by, whatever an earlier test did to them."""
    _started_pair.stand_by()
    return _started_pair


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
    for said, code in (("2070 records", 3), ("nothing ingested", 0)):
        places = ("--source", str(DISK), "--lake", "hdfs://prod/data/passed-over")
        ended = in_process({"HADOOP_CONF_DIR": str(conf)}, ("ingest", *places, *LOCAL))
        assert ended.code == code, ended.errors
        assert ended.out.startswith(said)


def test_delta_rs_waits_until_one_of_two_that_stand_by_takes_over(pair: HdfsPair) -> None:
    with ThreadPoolExecutor(1) as pool:
        patient = {"dfs.client.failover.max.attempts": "30"}  # the command below may need a while
        storage = HdfsStorage(HadoopProperties({**pair.properties, **patient}))
        told = pool.submit(storage.delta_options, "hdfs://prod/lake")
        time.sleep(_BEFORE_SECONDS)
        assert not told.done()
        pair.make_active("nn2")
        assert told.result()[_NAMES] == "nn2,nn1"


@pytest.mark.parametrize("kind", ["retires", "dies"])
def test_a_stand_by_takes_over_in_the_middle_of_a_run(
    pair: HdfsPair, kind: str, tmp_path: Path
) -> None:
    edges = {("orders", number): [0, 500, 1000] for number in range(2)}
    source, lake = make_log_dir(tmp_path / "data", edges), f"hdfs://prod/{kind}"
    pair.make_active("nn2")
    changed: list[str] = []

    def change(step: str) -> None:
        changed.append(step)
        if changed.count("records") == 1 and step == "records":
            pair.make_stand_by("nn2") if kind == "retires" else pair.name_nodes["nn2"].kill()
            pair.make_active("nn1")

    summary = ingested_in_waves(str(source), lake, pair.properties, change)
    assert summary.exit_code == 0
    assert changed.count("records") > 1
    expected = made_records({key: range(stops[-1]) for key, stops in edges.items()})
    assert records_taken(fetched(pair, f"/{kind}", tmp_path / "lake")) == expected
    again = ("ingest", "--source", str(source), "--lake", lake, *LOCAL)
    assert "nothing new" in in_process({"HADOOP_CONF_DIR": str(pair.conf)}, again).out


def test_a_stand_by_may_take_over_from_one_that_says_nothing(pair: HdfsPair) -> None:
    pair.make_active("nn2")
    silent = pair.name_nodes["nn2"]
    os.kill(silent.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        properties = HadoopProperties(pair.properties)
        running = pool.submit(ingested_at, str(DISK), "hdfs://prod/lake", properties)
        time.sleep(_BEFORE_SECONDS)
        pair.make_active("nn1")
        summary = running.result()
    silent.kill()
    assert (summary.exit_code, summary.records) == (3, 2070)
