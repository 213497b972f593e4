"""What a run is doing is shown while it lasts."""

import io
import time
from pathlib import Path

import pytest

from seglake.commands import run_audit, run_ingest
from seglake.environment.run_settings import settings_of
from seglake.progress.progress_views import Position, Unit, View
from seglake.progress.run_reporter import RunReporter, leave_terminal, step_within
from seglake.task_engine.engine import LocalEngine
from support import lake_tasks

_DISK = Path(__file__).parents[2] / "samples" / "broker-0"


class _Seen(View):
    """A view that keeps what it is told."""

    def __init__(self, every_seconds: float = 0.02) -> None:
        self.every_seconds = every_seconds
        self.positions: list[Position] = []
        self.steps: list[str] = []
        self.is_closed = False

    def step(self, text: str) -> None:
        self.steps.append(text)

    def say(self, text: str) -> None:
        self.steps.append(text)

    def show(self, position: Position) -> None:
        self.positions.append(position)

    def close(self) -> None:
        self.is_closed = True


def _shown_within(view: _Seen, text: str) -> list[Position]:
    return [position for position in view.positions if position.text == text]


@pytest.mark.parametrize("processes", [1, 2])
def test_bytes_move_within_a_task(processes: int) -> None:
    view = _Seen()
    with LocalEngine(processes) as engine, RunReporter(io.StringIO(), view=view) as reporter:
        done = reporter.run_tasks(
            engine, lake_tasks.count_slowly, [10] * processes, sizes=[10] * processes, text="work"
        )
    assert done == [10] * processes
    counts = [position.done for position in _shown_within(view, "work")]
    assert counts == sorted(counts)
    assert len({*counts}) > 4
    totals = {position.total for position in view.positions}
    assert totals - {0} == {10 * processes}  # 0 while the engine starts


def test_parts_of_a_whole_add_up_and_keep_its_total() -> None:
    view = _Seen()
    with LocalEngine(1) as engine, RunReporter(io.StringIO(), view=view) as reporter:
        with reporter.measuring(20, Unit.ROWS):
            for _ in range(2):
                reporter.run_tasks(engine, lake_tasks.count_slowly, [10], sizes=[10], text="work")
            reporter.step("committing")
            time.sleep(0.1)
        reporter.step("behind")
        time.sleep(0.1)
    assert _shown_within(view, "committing")[-1][2:] == (20, 20, Unit.ROWS)
    assert _shown_within(view, "behind")[-1].total == 0
    counts = [position.done for position in _shown_within(view, "work")]
    assert counts == sorted(counts)
    assert counts[-1] > 10


def test_a_step_within_another_leads_back_to_it() -> None:
    view = _Seen()
    with RunReporter(io.StringIO(), view=view) as reporter:
        reporter.step("surveying")
        with step_within("starting Spark"):
            time.sleep(0.1)
        time.sleep(0.1)
    texts = [position.text for position in view.positions]
    assert texts.index("starting Spark") < len(texts) - 1
    assert texts[-1] == "surveying"
    with step_within("nobody looks"):
        assert view.steps == ["surveying", "starting Spark"]


def test_what_tasks_that_read_wait_for_is_said_with_them() -> None:
    view = _Seen()
    with (
        LocalEngine(1) as engine,
        RunReporter(io.StringIO(), view=view, hint=lambda: "compiling") as reporter,
    ):
        reporter.step("listing")
        time.sleep(0.1)
        reporter.run_tasks(engine, lake_tasks.count_slowly, [3], sizes=[3], text="work")
        reporter.run_tasks(
            engine, lake_tasks.count_slowly, [3], sizes=[3], text="rows", unit=Unit.ROWS
        )
    assert {position.text for position in view.positions} == {"listing", "work (compiling)", "rows"}


def test_nobody_looks_any_more_behind_the_block() -> None:
    view = _Seen()
    with RunReporter(io.StringIO(), view=view) as reporter:
        reporter.step("listing")
        leave_terminal()
        assert view.is_closed
    time.sleep(0.1)
    count = len(view.positions)
    time.sleep(0.1)
    assert len(view.positions) == count
    assert reporter._thread is not None
    assert not reporter._thread.is_alive()


@pytest.mark.parametrize(("is_small", "started"), [(True, []), (False, ["started"]), (None, [])])
def test_small_work_starts_no_engine(is_small: bool | None, started: list[str]) -> None:
    starts: list[str] = []

    class Engine(LocalEngine):
        def start(self) -> None:
            starts.append("started")

    with Engine(1) as engine:
        found = RunReporter(io.StringIO()).run_tasks(
            engine, len, ["ab", ""], sizes=[2, 0], text="work", is_small=is_small
        )
    assert found == [2, 0]
    assert starts == started


def test_the_time_of_a_step_within_tasks_counts_for_no_rate() -> None:
    view = _Seen()
    with RunReporter(io.StringIO(), view=view) as reporter, reporter.measuring(10):
        reporter.step("decoding")
        with step_within("starting Spark"):
            time.sleep(0.3)
        time.sleep(0.1)
    assert {position.total for position in _shown_within(view, "starting Spark")} == {0}
    assert {position.total for position in _shown_within(view, "decoding")} == {10}
    assert _shown_within(view, "decoding")[-1].seconds < 0.3


def test_bytes_move_while_one_task_reads_them_and_queries_are_counted(tmp_path: Path) -> None:
    settings = settings_of({"engine": "local", "set": ["limits.local_processes=1"]})
    lake, view = str(tmp_path / "lake"), _Seen(0.002)
    run_ingest([str(_DISK)], lake, settings, {"engine": "local"}, view)
    run_audit(lake, [str(_DISK)], settings, {"engine": "local"}, view)
    for text in ("decoding", "auditing the tables", "comparing with the disks"):
        shown = [position for position in _shown_within(view, text) if position.total]
        assert len({position.total for position in shown}) == 1, text
        between = {position.done for position in shown} - {0, shown[0].total}
        assert between, text
    measured = [position for position in view.positions if position.total]
    assert {position.unit for position in measured if "tables" in position.text} == {Unit.QUERIES}
