"""Commands that die, hang, race or lose the ground at a point by its name leave a whole lake.

A few telling cases; `make torture PARTS=faults` draws from the rest, and the matrix has each.
"""

from pathlib import Path

import pytest

from support.named_points import Point
from torture.fault_scenes import SCENES
from torture.faults import Case, Stage, campaign

_TELLING = [
    Case("more", "driver killed", Point("task done", 1), 0),
    Case("more", "worker killed", Point("task begun", 1), 0),
    Case("more", "grown", Point("survey_segments ran", 0), 0),
    Case("more", "runs race", None, 3),
    Case("recovery", "disk full", Point("batches", 0), 0),
    Case("retake", "driver stopped", Point("committing", 0), 0),
    Case("retake", "no memory", Point("gaps", 0), 0),
    Case("maintain", "driver stopped", Point("merge ran", 0), 0),
]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("stage"))


@pytest.mark.xdist_group("faults at points")
@pytest.mark.parametrize("case", _TELLING, ids=str)
def test_the_next_run_completes_the_lake(case: Case, stage: Stage) -> None:
    assert stage.wrong(case) == []


@pytest.mark.matrix
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", SCENES)
def test_whatever_happens_wherever_the_next_run_completes_the_lake(
    name: str, tmp_path: Path
) -> None:
    stage = Stage(tmp_path)
    wrong = {str(case): found for case in stage.cases(name) if (found := stage.wrong(case))}
    assert wrong == {}


@pytest.mark.matrix
def test_a_campaign_tells_what_it_tried() -> None:
    rows = [*campaign(20, seed=5)]
    assert sum(row.tried for row in rows) > 0
    assert sum(row.wrong for row in rows) == 0
