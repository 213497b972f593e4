"""Several runs at once on one lake on HDFS: nothing is lost and nothing doubles."""

from pathlib import Path

import pytest

from seglake.lake.delta_tables import LakeTables
from seglake.lake.table_creation import create_missing
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.storages import Storages
from support import remote_runs
from support.hdfs_runs import fetched
from support.made_logs import made_records, make_log_dir
from support.remote_runs import ingested_at, run_together
from support.servers.hdfs_cluster import HdfsCluster
from support.taken import is_nothing_new, records_taken

pytestmark = [pytest.mark.hdfs, pytest.mark.timeout(900)]  # the JARs may have to be fetched

_EDGES = {("orders", 0): [0, 40, 80], ("payments", 0): [0, 30, 90]}
_ROUNDS = 8
_DRIVERS = 2


def test_of_two_commits_at_once_one_wins(
    hdfs: HdfsCluster, hdfs_folder: str, tmp_path: Path
) -> None:
    lake = f"{hdfs.uri}{hdfs_folder}/lake"
    storage = Storages(HadoopProperties())
    assert storage.creates_exclusively(lake)
    create_missing(LakeTables(lake, storage))
    won = run_together(remote_runs.commit_beside_others, tmp_path, _DRIVERS, lake, _ROUNDS, {})
    assert [sum(map(bool, each)) for each in zip(*won, strict=True)] == [1] * _ROUNDS


def test_two_runs_at_once_take_every_record_once(
    hdfs: HdfsCluster, hdfs_folder: str, tmp_path: Path
) -> None:
    source = str(make_log_dir(tmp_path / "data", _EDGES))
    lakes = [f"{hdfs.uri}{hdfs_folder}/lake-{number}" for number in range(2)]
    endings = run_together(remote_runs.ingest_beside_others, tmp_path, _DRIVERS, source, lakes, {})
    expected = made_records({key: range(stops[-1]) for key, stops in _EDGES.items()})
    for number, lake in enumerate(lakes):
        local = fetched(hdfs, f"{hdfs_folder}/lake-{number}", tmp_path / f"lake-{number}")
        assert records_taken(local) == expected
        assert is_nothing_new(ingested_at(source, lake, HadoopProperties()))
    assert {code for ending in endings for code, _ in ending} == {0}
