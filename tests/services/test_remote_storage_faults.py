"""Calls to S3 and HDFS that go wrong: a normal run behind them completes the lake."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.errors import ExitCode
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.storages import Storages
from support.cases import cases
from support.faulty_storage import Fault, FaultPlan, FaultyStorage, How, Op
from support.hdfs_runs import fetched, put
from support.lake_accounts import incomplete, rows_of
from support.servers.hdfs_cluster import HdfsCluster
from support.servers.s3_server import S3Server
from torture.storage_faults import played, wrongly_said
from torture.storage_scenes import SCENES, Scene

pytestmark = pytest.mark.timeout(1500)  # the server may have to be built

_SCENE = SCENES["first ingest"]
_FAULTS = [
    Fault(Op.READ, How.FAIL, 9),
    Fault(Op.CLOSE, How.LATE_ERROR, 3),
    Fault(Op.WRITE_WHOLE, How.FAIL, 3),
    Fault(Op.COMMIT, How.FAIL_FROM_NOW_ON, 4),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a disk."""
    folder = tmp_path_factory.mktemp("base")
    _SCENE.make(folder)
    return folder


@pytest.fixture(scope="module")
def expected(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[str]]:
    """The rows that come of it where all is local."""
    folder = tmp_path_factory.mktemp("clean") / "clean"
    shutil.copytree(base, folder)
    assert _SCENE.act(str(folder), Storages(HadoopProperties())).code == ExitCode.DONE
    return rows_of(folder / "lake")


def _wrong(
    uri: str, properties: HadoopProperties, fault: Fault, scene: Scene = _SCENE
) -> list[str]:
    """What was otherwise than promised in a run with a fault, and in the one behind it."""
    storage, plan = Storages(properties), FaultPlan(fault)
    ended = played(scene, uri, FaultyStorage(storage, plan), plan)
    assert plan.met
    again = played(scene, uri, storage, FaultPlan())
    return [*wrongly_said(ended, plan), *([] if again.answer.code == 0 else [str(again)])]


@pytest.mark.s3
@pytest.mark.parametrize("fault", _FAULTS, ids=str)
def test_a_run_on_s3_that_met_a_fault_lost_nothing(
    fault: Fault, s3: S3Server, bucket: str, base: Path, expected: Mapping[str, list[str]]
) -> None:
    folder = shutil.copytree(base, s3.folder / bucket / "place")
    assert _wrong(f"s3://{bucket}/place", s3.properties(), fault) == []
    assert incomplete(folder / "lake") == []
    assert rows_of(folder / "lake") == expected


@pytest.mark.hdfs
@pytest.mark.parametrize("fault", cases(_FAULTS, telling=lambda fault: fault.op is Op.COMMIT))
def test_a_run_on_hdfs_that_met_a_fault_lost_nothing(
    fault: Fault,
    hdfs: HdfsCluster,
    hdfs_folder: str,
    base: Path,
    tmp_path: Path,
    expected: Mapping[str, list[str]],
) -> None:
    put(base, hdfs, hdfs_folder)
    assert _wrong(f"{hdfs.uri}{hdfs_folder}", HadoopProperties(hdfs.properties), fault) == []
    lake = fetched(hdfs, f"{hdfs_folder}/lake", tmp_path / "lake")
    assert incomplete(lake) == []
    assert rows_of(lake) == expected


_MAINTENANCE = SCENES["maintain"]
_FAILED_COMMIT = Fault(Op.COMMIT, How.LATE_ERROR, 2)


@pytest.fixture(scope="module")
def untidy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a lake of many files."""
    folder = tmp_path_factory.mktemp("untidy")
    _MAINTENANCE.make(folder)
    return folder


def _file_count(lake: Path) -> int:
    return len(DeltaTable(str(lake / "records")).file_uris())


@pytest.mark.s3
def test_maintenance_on_s3_changes_no_row(untidy: Path, s3: S3Server, bucket: str) -> None:
    folder = shutil.copytree(untidy, s3.folder / bucket / "untidy")
    uri = f"s3://{bucket}/untidy"
    assert _wrong(uri, s3.properties(), _FAILED_COMMIT, _MAINTENANCE) == []
    assert rows_of(folder / "lake") == rows_of(untidy / "lake")
    assert _file_count(folder / "lake") < _file_count(untidy / "lake")


@pytest.mark.hdfs
def test_maintenance_on_hdfs_changes_no_row(
    untidy: Path, hdfs: HdfsCluster, hdfs_folder: str, tmp_path: Path
) -> None:
    put(untidy, hdfs, hdfs_folder)
    properties = HadoopProperties(hdfs.properties)
    assert _wrong(f"{hdfs.uri}{hdfs_folder}", properties, _FAILED_COMMIT, _MAINTENANCE) == []
    lake = fetched(hdfs, f"{hdfs_folder}/lake", tmp_path / "lake")
    assert rows_of(lake) == rows_of(untidy / "lake")
    assert _file_count(lake) < _file_count(untidy / "lake")
