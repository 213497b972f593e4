"""On Spark, the virtual machine or a Python worker is killed in the middle of a task."""

import pytest

from support.cases import cases
from support.named_points import Point, held
from torture.fault_scenes import Scene, scene

pytestmark = [pytest.mark.own_spark, pytest.mark.timeout(600)]

# A task may fail three times.
_ON_SPARK = ("--engine", "spark", "--master", "local[2,4]")


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A log that has grown since the last run."""
    return scene("more", tmp_path_factory.mktemp("spark") / "more")


def test_a_python_worker_that_is_killed_costs_a_try_and_no_row(grown: Scene) -> None:
    folder = grown.copied("cycle")
    with held(grown.argv(folder, *_ON_SPARK)) as run:
        run.reach(Point("task begun", 0))
        assert run.pid_there != run.pid
        run.kill_who_is_there()
        assert run.finish() == 3, run.text()  # the log has damage
    assert grown.wrong(folder) == []


_POINTS = [Point("task begun", 0), Point("task done", 1), Point("gaps", 0)]


@pytest.mark.parametrize("point", cases(_POINTS, telling=_POINTS[:1]), ids=str)
def test_a_virtual_machine_that_is_killed_ends_the_run_and_the_next_completes_the_lake(
    point: Point, grown: Scene
) -> None:
    folder = grown.copied("cycle")
    with held(grown.argv(folder, *_ON_SPARK)) as run:
        run.reach(point)
        run.kill_java()
        assert run.finish() == 1
        assert run.text().splitlines()[-1].startswith("seglake: ")  # behind what PySpark prints
    assert grown.wrong(folder) == []
