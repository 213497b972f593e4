"""Calls to the storage and to delta-rs that go wrong: a normal run behind them completes the lake.

A few telling ones; `make torture` draws from all.
"""

import pytest

from support.cases import cases
from support.faulty_storage import Fault, How, Op
from torture.storage_faults import Point, Stage, campaign

_TELLING = [
    Point(scene, Fault(op, how, n))
    for scene, op, how, n in (
        ("first ingest", Op.OPEN_TABLE, How.FAIL_FROM_NOW_ON, 5),
        ("first ingest", Op.LIST, How.FAIL, 5),
        ("first ingest", Op.CREATE_TABLE, How.LATE_ERROR, 4),
        ("first ingest", Op.OPEN, How.FAIL, 4),
        ("first ingest", Op.READ, How.SHORT, 9),
        ("first ingest", Op.READ, How.NO_MEMORY, 12),
        ("first ingest", Op.WRITE, How.SHORT, 7),
        ("first ingest", Op.CLOSE, How.FAIL, 2),
        ("first ingest", Op.WRITE_WHOLE, How.DISK_FULL, 3),
        ("first ingest", Op.DELETE, How.LATE_ERROR, 1),
        ("second ingest", Op.COMMIT, How.LATE_ERROR, 1),
        ("second ingest", Op.COMMIT, How.FAIL_FROM_NOW_ON, 2),
        ("second ingest", Op.SYNC, How.FAIL, 6),
        ("second ingest", Op.READ_WHOLE, How.FAIL, 9),
        ("repair", Op.READ, How.FAIL_FROM_NOW_ON, 4),
        ("repair", Op.OPEN_TABLE, How.FAIL, 8),
        ("replay", Op.UPDATE_TABLE, How.FAIL, 2),
        ("replay", Op.COMMIT, How.FAIL_FROM_NOW_ON, 4),
        ("retake", Op.COMMIT, How.FAIL_FROM_NOW_ON, 3),
        ("maintain", Op.COMMIT, How.LATE_ERROR, 1),
        ("maintain", Op.COMMIT, How.FAIL, 2),
        ("maintain", Op.SYNC, How.DISK_FULL, 2),
        ("maintain", Op.CLOSE, How.FAIL, 2),
        ("audit", Op.READ, How.FAIL, 6),
        ("inspect", Op.READ, How.SHORT, 5),
    )
]
# Each is like one above: another call that fails the same way, or the same one in another run.
_OTHERS = [
    Point(scene, Fault(op, how, n))
    for scene, op, how, n in (
        ("first ingest", Op.SYNC, How.DISK_FULL, 3),
        ("first ingest", Op.SYNC, How.FAIL, 14),
        ("first ingest", Op.CLOSE, How.LATE_ERROR, 3),
        ("second ingest", Op.COMMIT, How.FAIL, 3),
        ("second ingest", Op.READ_WHOLE, How.FAIL, 2),
        ("second ingest", Op.WRITE, How.SLOW, 1),
        ("second ingest", Op.INFO, How.FAIL, 30),
        ("replay", Op.READ, How.FAIL, 1),
    )
]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("stage"))


@pytest.mark.xdist_group("storage faults")
@pytest.mark.parametrize("point", cases([*_TELLING, *_OTHERS], telling=_TELLING))
def test_a_run_that_met_a_fault_lost_nothing(point: Point, stage: Stage) -> None:
    assert stage.wrong(point) == []


@pytest.mark.matrix
def test_a_campaign_tells_what_it_tried(capfd: pytest.CaptureFixture[str]) -> None:
    rows = [*campaign(20, seed=5)]
    assert sum(row.tried for row in rows) > 0
    assert sum(row.wrong for row in rows) == 0
    assert "WRONG" not in capfd.readouterr().out
