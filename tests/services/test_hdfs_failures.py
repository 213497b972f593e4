"""What is wrong with an HDFS is said in one paragraph, and nothing is torn."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from hdfs_native import Client

from seglake.storage.errors import PlaceError, RefusedError, StorageError, StoreSilentError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.hdfs_storage import HdfsStorage
from support.hdfs_runs import DISK, LOCAL, fetched, ingested_in_waves, put, seglake
from support.made_logs import made_records, make_log_dir
from support.remote_runs import Ended, in_process, ingested_at
from support.servers.hadoop_programs import write_conf
from support.servers.hdfs_cluster import HdfsCluster, hdfs_cluster
from support.servers.processes import LOOPBACK, free_port
from support.taken import is_nothing_new, records_taken

pytestmark = [pytest.mark.hdfs, pytest.mark.timeout(900)]  # the JARs may have to be fetched

_NOTHING = HadoopProperties()
_FAILED, _REFUSED = 1, 2


def _ended(environment: dict[str, str], arguments: Sequence[str]) -> Ended:
    """How a command ends; all connections of a process are of one user."""
    if "HADOOP_USER_NAME" in environment:
        return seglake(environment, *arguments)
    return in_process(environment, arguments)


def _ingest(source: str, lake: str, **environment: str) -> Ended:
    return _ended(environment, ["ingest", "--source", source, "--lake", lake, *LOCAL])


_REACHES = {
    "ingest": ("ingest", "--source", str(DISK), "--lake", "{place}", *LOCAL),
    "ingest from": ("ingest", "--source", "{place}", "--lake", "{tmp}/lake", *LOCAL),
    "audit": ("audit", "--lake", "{place}", *LOCAL),
    "replay": ("replay", "--lake", "{place}", *LOCAL),
    "inspect": ("inspect", "{place}"),
    "sql": ("sql", "--lake", "{place}", "SELECT 1"),
}


def _reached(command: str, place: str, folder: Path, **environment: str) -> Ended:
    """How a command ends that reaches for a place."""
    arguments = [part.format(place=place, tmp=folder) for part in _REACHES[command]]
    return _ended(environment, arguments)


def _paragraph(ended: Ended, code: int) -> str:
    """What a command said that failed with this code: one line, without a stack of any language."""
    assert ended.code == code, ended
    (line,) = ended.errors.strip().splitlines()
    assert line.startswith("seglake: ")
    assert "Traceback" not in line
    assert "\\tat " not in line
    assert "org.apache" not in line
    return line


def test_nobody_may_write_where_hdfs_forbids_it(hdfs: HdfsCluster) -> None:
    lake = f"{hdfs.uri}/forbidden"
    said = _paragraph(_ingest(str(DISK), lake, HADOOP_USER_NAME="mallory"), _REFUSED)
    assert "Permission denied: user=mallory, access=WRITE" in said
    assert "HADOOP_USER_NAME" in said
    assert HdfsStorage(_NOTHING).info(lake) is None


def test_source_that_may_not_be_read_is_named(hdfs: HdfsCluster, hdfs_folder: str) -> None:
    source = f"{hdfs_folder}/secret"
    client = Client(hdfs.uri)
    client.mkdirs(source, create_parent=True)
    client.set_permission(source, 0o700)
    lake = f"{hdfs.uri}{hdfs_folder}/lake"
    said = _paragraph(_ingest(f"{hdfs.uri}{source}", lake, HADOOP_USER_NAME="mallory"), _REFUSED)
    assert f"the source is refused: cannot list {hdfs.uri}{source}: Permission denied" in said
    assert "user=mallory, access=READ_EXECUTE" in said


@pytest.mark.parametrize("command", _REACHES)
def test_folder_that_may_not_be_read_is_a_wrong_call_of_every_command(
    hdfs: HdfsCluster, hdfs_folder: str, tmp_path: Path, command: str
) -> None:
    client = Client(hdfs.uri)
    client.mkdirs(f"{hdfs_folder}/records/_delta_log", create_parent=True)
    client.set_permission(hdfs_folder, 0o700)
    place = f"{hdfs.uri}{hdfs_folder}"
    said = _paragraph(_reached(command, place, tmp_path, HADOOP_USER_NAME="mallory"), _REFUSED)
    assert "Permission denied: user=mallory" in said
    assert said.count(place) == 1


@pytest.mark.parametrize("command", _REACHES)
def test_name_node_that_is_down_is_a_failure_of_every_command(command: str, tmp_path: Path) -> None:
    place = f"hdfs://{LOOPBACK}:{free_port()}"
    conf = write_conf(tmp_path, {"dfs.client.failover.max.attempts": "1"})
    ended = _reached(command, f"{place}/place", tmp_path, HADOOP_CONF_DIR=str(conf))
    assert f"nothing listens at {place} or at one of its data nodes" in _paragraph(ended, _FAILED)
    assert not (tmp_path / "lake").exists()


def test_safe_mode_is_said_and_the_next_run_goes_on(
    hdfs: HdfsCluster, hdfs_folder: str, tmp_path: Path
) -> None:
    source = str(make_log_dir(tmp_path / "data", {("orders", 0): [0, 10]}))
    lake = f"{hdfs.uri}{hdfs_folder}/lake"
    ingested_at(source, lake, _NOTHING)
    make_log_dir(tmp_path / "data", {("payments", 0): [0, 10]})
    hdfs.enter_safe_mode()
    try:
        in_old, in_new = _ingest(source, lake), _ingest(source, f"{lake}-2")
    finally:
        hdfs.leave_safe_mode()
    for ended in (in_old, in_new):
        said = _paragraph(ended, _FAILED)
        assert "the name node is in safe mode and refuses changes" in said
    assert ingested_at(source, lake, _NOTHING).topics == ["payments"]


def test_used_up_quota_is_said_with_its_numbers(hdfs: HdfsCluster, hdfs_folder: str) -> None:
    Client(hdfs.uri).mkdirs(hdfs_folder, create_parent=True)
    hdfs.allow_space(hdfs_folder, 1 << 20)  # less than a block
    said = _paragraph(_ingest(str(DISK), f"{hdfs.uri}{hdfs_folder}/lake"), _FAILED)
    assert "the quota of space is used up" in said
    assert "1048576" in said


def test_nameservice_without_a_living_name_node_is_said(tmp_path: Path) -> None:
    properties = {
        "dfs.ha.namenodes.prod": "a,b",
        "dfs.namenode.rpc-address.prod.a": f"{LOOPBACK}:{free_port()}",
        "dfs.namenode.rpc-address.prod.b": f"{LOOPBACK}:{free_port()}",
        "dfs.client.failover.max.attempts": "2",
    }
    with pytest.raises(StoreSilentError, match="nothing listens at hdfs://prod"):
        HdfsStorage(HadoopProperties(properties)).list_folder("hdfs://prod/x")


@pytest.mark.parametrize(
    ("uri", "properties", "kind", "reason"),
    [
        (
            "hdfs://no-such-host.invalid:8020",
            {},
            StoreSilentError,
            "the host of hdfs://no-such-host.invalid:8020 is",
        ),
        (
            "hdfs://prod",
            {"dfs.ha.namenodes.prod": "a"},
            RefusedError,
            "has no address of a name node for",
        ),
        ("viewfs://view", {}, RefusedError, r"set fs\.viewfs\.mounttable\.view\.linkFallback"),
    ],
)
def test_wrong_names_are_told_apart(
    uri: str, properties: dict[str, str], kind: type[PlaceError], reason: str
) -> None:
    known = HadoopProperties(properties | {"dfs.client.failover.max.attempts": "1"})
    with pytest.raises(PlaceError, match=reason) as caught:
        HdfsStorage(known).list_folder(f"{uri}/x")
    assert type(caught.value) is kind


def test_port_of_another_service_is_told(hdfs: HdfsCluster) -> None:
    place = f"hdfs://{LOOPBACK}:{hdfs.http_port}"
    storage = HdfsStorage(HadoopProperties({"dfs.client.failover.max.attempts": "1"}))
    with pytest.raises(StorageError, match="the RPC port of a name node"):
        storage.list_folder(f"{place}/x")


@pytest.mark.slow
def test_name_node_that_hangs_is_given_up(tmp_path: Path) -> None:
    with hdfs_cluster(tmp_path / "hdfs", is_one_process=False) as hdfs:
        os.kill(hdfs.nodes[0].pid, signal.SIGSTOP)
        said = _paragraph(_ingest(f"{hdfs.uri}/kafka", str(tmp_path / "lake")), _FAILED)
        assert "has not answered in 45 s" in said
        said = _paragraph(_ingest(str(DISK), f"{hdfs.uri}/lake"), _FAILED)
        assert "has not answered in 45 s" in said


@pytest.mark.slow
def test_data_node_may_die_in_the_middle_of_a_run(tmp_path: Path) -> None:
    edges = {("orders", number): list(range(0, 4001, 500)) for number in range(4)}
    source = make_log_dir(tmp_path / "data", edges)
    folder = tmp_path / "hdfs"
    with hdfs_cluster(folder, data_node_count=3, replication=2, is_one_process=False) as hdfs:
        put(source, hdfs, "/kafka")
        steps: list[str] = []

        def kill(step: str) -> None:
            steps.append(step)
            if step == "records":
                hdfs.nodes[1].kill()

        summary = ingested_in_waves(f"{hdfs.uri}/kafka", f"{hdfs.uri}/lake", {}, kill)
        assert summary.exit_code == 0
        assert steps.count("records") > 1
        expected = made_records({key: range(stops[-1]) for key, stops in edges.items()})
        assert records_taken(fetched(hdfs, "/lake", tmp_path / "lake")) == expected
        assert is_nothing_new(ingested_at(f"{hdfs.uri}/kafka", f"{hdfs.uri}/lake", _NOTHING))
