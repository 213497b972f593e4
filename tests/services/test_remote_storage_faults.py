"""Calls to S3 and HDFS that go wrong: a normal run behind them completes the lake.

A few telling ones; `make torture PARTS="s3_faults hdfs_faults"` draws from all.
"""

from pathlib import Path

import pytest
from deltalake import DeltaTable

from support.cases import cases
from support.faulty_storage import Fault, How, Op
from support.servers.hdfs_cluster import HdfsCluster
from support.servers.s3_server import S3Server
from torture.storage_faults import Point, Stage
from torture.storage_places import HdfsPlace, Place, S3Place

pytestmark = pytest.mark.timeout(1500)  # the server may have to be built

_MERGES = Point("maintain", Fault(Op.COMMIT, How.LATE_ERROR, 2))
_POINTS = [
    Point("first ingest", Fault(Op.READ, How.FAIL, 9)),
    Point("first ingest", Fault(Op.CLOSE, How.LATE_ERROR, 3)),
    Point("first ingest", Fault(Op.WRITE_WHOLE, How.FAIL, 3)),
    Point("first ingest", Fault(Op.COMMIT, How.FAIL_FROM_NOW_ON, 4)),
    _MERGES,
]


def _check(point: Point, folder: Path, place: Place) -> None:
    assert Stage(folder, place).wrong(point) == []
    if point == _MERGES:
        before, after = folder / point.scene, place.found()
        assert _file_count(after) < _file_count(before)


def _file_count(folder: Path) -> int:
    return len(DeltaTable(str(folder / "lake" / "records")).file_uris())


@pytest.mark.s3
@pytest.mark.parametrize("point", _POINTS, ids=str)
def test_a_run_on_s3_that_met_a_fault_lost_nothing(
    point: Point, s3: S3Server, tmp_path: Path
) -> None:
    _check(point, tmp_path, S3Place(s3, number=_POINTS.index(point)))


@pytest.mark.hdfs
@pytest.mark.parametrize(
    "point",
    cases(_POINTS, telling=lambda point: point.fault.op is Op.COMMIT),
)
def test_a_run_on_hdfs_that_met_a_fault_lost_nothing(
    point: Point, hdfs: HdfsCluster, tmp_path: Path
) -> None:
    place = HdfsPlace(hdfs.uri, hdfs.properties, tmp_path, number=_POINTS.index(point))
    _check(point, tmp_path, place)
