"""Tasks say how far they are, wherever they share the machine with the driver."""

import io
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import LocalEngine, SparkEngine
from seglake.task_engine.errors import EngineError
from seglake.task_engine.task_progress import CountedReads, TaskProgress, advance, run_watched
from support import lake_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_bytes_of_running_tasks_are_seen_from_another_process(tmp_path: Path) -> None:
    seen: list[int] = []
    with TaskProgress([20, 20]) as progress, LocalEngine(2) as engine:
        work = threading.Thread(
            target=run_watched, args=(engine, lake_tasks.count_slowly, [20, 20], progress)
        )
        work.start()
        while work.is_alive():
            seen.append(progress.done)
            time.sleep(0.01)
        assert progress.done == 40
        assert [*tmp_path.glob("seglake-*")] == [Path(progress.path)]
    assert len({*seen}) > 10  # and not 0, 20, 40
    assert seen == sorted(seen)
    assert [*tmp_path.glob("seglake-*")] == []
    assert progress.done == 40


def test_a_task_counts_for_no_more_than_its_size_and_when_it_ends_for_all_of_it() -> None:
    with TaskProgress([4, 6]) as progress, LocalEngine(1) as engine:
        assert run_watched(engine, lake_tasks.count_twice_as_much, [4, 1], progress) == [4, 1]
        assert progress.done == 10


def test_where_tasks_cannot_reach_the_file_those_that_ended_count() -> None:
    seen: list[int] = []
    with TaskProgress([3, 5]) as progress, LocalEngine(1) as engine:
        Path(progress.path).unlink()  # as on another machine
        engine_run = engine.run

        def noting(function, tasks, *, on_done):  # type: ignore[no-untyped-def]
            def both(count: int) -> None:
                on_done(count)
                seen.append(progress.done)

            return engine_run(function, tasks, on_done=both)

        engine.run = noting  # type: ignore[method-assign]
        assert run_watched(engine, lake_tasks.count_slowly, [3, 5], progress) == [3, 5]
    assert seen == [3, 8]


def test_without_a_scratch_folder_the_work_is_done_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    with TaskProgress([3]) as progress, LocalEngine(1) as engine:
        assert run_watched(engine, lake_tasks.count_slowly, [3], progress) == [3]
        assert progress.done == 3


def test_a_failed_task_leaves_no_slot_open() -> None:
    with TaskProgress([10]) as progress, LocalEngine(1) as engine:
        with pytest.raises(EngineError, match="half-way"):
            run_watched(engine, lake_tasks.fail_half_way, [10], progress)
        advance(3)
        assert progress.done == 5


def test_bytes_read_again_count_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(100))

    def read(position: int) -> int:
        with LocalStorage().open_reader(str(tmp_path / "file")) as reader:
            counted = CountedReads(reader, position)
            assert counted.size_bytes == 100
            for start, length in ((10, 20), (20, 20), (0, 10), (90, 50)):
                assert counted.read(start, length) == bytes(min(length, 100 - start))
        return position

    with TaskProgress([100]) as progress, LocalEngine(1) as engine:
        run_watched(engine, _Once(read, progress, seen := io.StringIO()), [10], progress)
    assert seen.getvalue() == "90"


class _Once:
    """Calls a function and notes how far it came, before the task ends."""

    def __init__(self, function, progress: TaskProgress, seen: io.StringIO) -> None:  # type: ignore[no-untyped-def]
        self._function = function
        self._progress = progress
        self._seen = seen

    def __call__(self, task: int) -> int:
        self._function(task)
        self._seen.write(str(self._progress.done))
        return task


@pytest.mark.spark
def test_tasks_of_a_local_spark_are_seen_while_they_work(spark_session: "SparkSession") -> None:
    seen: list[int] = []
    engine = SparkEngine(spark_session.sparkContext)
    with TaskProgress([40, 40]) as progress:
        work = threading.Thread(
            target=run_watched, args=(engine, lake_tasks.count_slowly, [40, 40], progress)
        )
        work.start()
        while work.is_alive():
            seen.append(progress.done)
            time.sleep(0.01)
    assert len({*seen}) > 10
    assert seen == sorted(seen)


def test_a_disk_that_was_full_costs_no_task(tmp_path: Path) -> None:
    with TaskProgress([20, 20, 20]) as progress, LocalEngine(1) as engine:
        with Path(progress.path).open("r+b") as file:
            file.truncate(8)
        assert run_watched(engine, lake_tasks.count_twice_as_much, [1, 2, 3], progress) == [1, 2, 3]
