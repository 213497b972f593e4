"""A lake in an erasure-coded folder of HDFS: its files cannot be synced before they are closed."""

import json
from pathlib import Path

import pytest

from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.hdfs_storage import HdfsStorage
from support.hdfs_runs import DISK, LOCAL
from support.remote_runs import in_process
from support.servers.hdfs_cluster import HdfsCluster

pytestmark = [pytest.mark.hdfs, pytest.mark.timeout(900)]  # the JARs may have to be fetched

_POLICY = "RS-3-2-1024k"  # the client cannot read what is coded with XOR
_FOLDER = "/coded"


@pytest.fixture(scope="module")
def coded(hdfs: HdfsCluster) -> HdfsCluster:
    """A cluster with a folder whose files are coded."""
    HdfsStorage(HadoopProperties(hdfs.properties)).make_folder(f"{hdfs.uri}{_FOLDER}")
    hdfs.code(_FOLDER, _POLICY)
    return hdfs


@pytest.mark.parametrize("size", [0, 1, 5 << 20])
def test_a_coded_file_has_the_bytes_that_were_written(coded: HdfsCluster, size: int) -> None:
    storage = HdfsStorage(HadoopProperties(coded.properties))
    content = bytes(range(251)) * (size // 251 + 1)
    path = f"{coded.uri}{_FOLDER}/{size}"
    with storage.open_output(path) as output:
        for start in range(0, size, 1 << 20):
            output.write(content[start : min(size, start + (1 << 20))])
    assert storage.read_bytes(path) == content[:size]


def test_a_lake_in_a_coded_folder_is_as_good_as_a_local_one(
    coded: HdfsCluster, tmp_path: Path
) -> None:
    lakes = str(tmp_path / "lake"), f"{coded.uri}{_FOLDER}/lake"
    for command in ("ingest", "ingest", "audit"):
        calls = [(command, "--source", str(DISK), "--lake", lake, *LOCAL) for lake in lakes]
        local, remote = (in_process({}, (*call, "--json")) for call in calls)
        assert remote.code == local.code, remote.errors
        facts = [json.loads(ended.out) for ended in (local, remote)]
        assert facts[0].get("records") == facts[1].get("records")
