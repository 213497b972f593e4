"""A developer sees what a run does, with -vv or with a handler; nobody else sees any of it."""

import io
import json
import logging
import re
from collections.abc import Generator
from contextvars import copy_context
from pathlib import Path

import pytest

from seglake.commands import run_ingest
from seglake.environment.run_settings import settings_of
from seglake.ingest_steps.run_context import ScanContext
from seglake.pipelines.segment_ingest.ingest import ingest
from seglake.progress.progress_views import EventLog, EventView
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import Engine, LocalEngine
from support.encoder import Partition, Record, Segment, record_batch, write_log_dir
from support.meanwhile import Meanwhile, once

_STEPS = (
    r"listed c: partitions=1 copies=1 unreadable=0",
    r"orders-0: to ingest \[0, 2\) copies=1 from ",
    r"round planned: partitions=1 surveyed=1 ranges=1 waves=1 bytes=\d+",
    r"decoding: tasks=1 bytes=\d+ largest=\d+ seconds=",
    r"attempt [\w-]+: decoded ranges=1/1 records=2 batches=1 quarantined=0 gaps=0",
    r"records: committed read_version=0 added=1 removed=0 topics=1",
    r"checkpoints: committed read_version=0 added=1 removed=0 topics=1",
    r"attempt [\w-]+: committed orders generation=1",
)
_LOGGER = logging.getLogger("seglake")


def _log_dir(folder: Path, value: bytes = b"v") -> Path:
    batch = record_batch(0, [Record(b"k", value, 1_700_000_000_000)] * 2)
    write_log_dir(folder, [Partition("orders", 0, [Segment(0, [batch])])], cluster_id="c")
    return folder


def _ingest(source: Path, lake: Path, reporter: RunReporter, engine: Engine) -> None:
    settings = Settings.from_mappings([("test", {"read": {"upper_bound": "log_end"}})])
    context = ScanContext(
        storage=LocalStorage(), settings=settings, engine=engine, reporter=reporter
    )
    with reporter:
        ingest([str(source)], str(lake), context)


def _shown(source: Path, lake: Path, engine: Engine, verbosity: int) -> list[str]:
    stream = io.StringIO()
    _ingest(source, lake, RunReporter(stream, verbosity=verbosity), engine)
    return stream.getvalue().splitlines()


def test_each_step_of_a_run_is_shown_in_order(tmp_path: Path, engine: Engine) -> None:
    shown = iter(_shown(_log_dir(tmp_path / "disk"), tmp_path / "lake", engine, 2))
    for step in _STEPS:  # the iterator goes on after each
        assert any(re.search(rf"^seglake: [\w.]+: {step}", line) for line in shown), step


@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_nothing_of_it_is_shown_unasked(tmp_path: Path, verbosity: int) -> None:
    with LocalEngine(1) as engine:
        shown = _shown(_log_dir(tmp_path / "disk"), tmp_path / "lake", engine, verbosity)
    assert [line for line in shown if "=" in line] == []


def test_logger_is_as_it_was_after_a_run(tmp_path: Path) -> None:
    before = (_LOGGER.level, [*_LOGGER.handlers])
    with LocalEngine(1) as engine, pytest.raises(Exception, match="no/such/disk"):
        _shown(Path("no/such/disk"), tmp_path / "lake", engine, 2)
    assert (_LOGGER.level, _LOGGER.handlers) == before


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_two_runs_at_once_show_each_its_own_lines_until_they_end(first_ends_first: bool) -> None:
    level, streams = _LOGGER.level, [io.StringIO(), io.StringIO()]
    logger = logging.getLogger("seglake.somewhere")

    def running(stream: io.StringIO) -> Generator[None]:
        with RunReporter(stream, verbosity=2):
            while True:
                logger.debug("a line")
                yield

    contexts = [copy_context() for _ in streams]  # as of two threads
    runs = [running(stream) for stream in streams]
    order = [0, 1, 0, 1]
    for run in order:
        contexts[run].run(next, runs[run])
    first, second = (0, 1) if first_ends_first else (1, 0)
    contexts[first].run(runs[first].close)
    contexts[second].run(next, runs[second])
    contexts[second].run(runs[second].close)
    line = "seglake: somewhere: a line"
    assert streams[first].getvalue().splitlines() == [line] * 2
    assert streams[second].getvalue().splitlines() == [line] * 3
    assert (_LOGGER.level, _LOGGER.handlers) == (level, [])


def test_a_handler_of_the_caller_s_gets_it_without_a_switch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"upper_bound": "log_end", "set": ["limits.local_processes=1"]}
    source = [str(_log_dir(tmp_path / "disk"))]
    with caplog.at_level(logging.DEBUG, logger="seglake"):
        run_ingest(source, str(tmp_path / "lake"), settings_of(options), {"engine": "local"})
    assert {record.levelname for record in caplog.records} == {"DEBUG"}
    assert "seglake.ingest_steps.committing.wave" in {record.name for record in caplog.records}
    assert capsys.readouterr().err == ""


def test_events_have_it_with_module_and_step(tmp_path: Path) -> None:
    stream = io.StringIO()
    view = EventView(EventLog(stream, {"command": "ingest"}), verbosity=2)
    with LocalEngine(1) as engine:
        reporter = RunReporter(io.StringIO(), verbosity=2, view=view)
        _ingest(_log_dir(tmp_path / "disk"), tmp_path / "lake", reporter, engine)
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    committed = [of for of in events if "generation=1" in of.get("message", "")]
    facts = {name: committed[0][name] for name in ("level", "event", "step", "module")}
    assert facts == {
        "level": "debug",
        "event": "debug",
        "step": "committing",
        "module": "ingest_steps.committing.wave",
    }


def test_a_topic_that_another_run_committed_first_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, lake = _log_dir(tmp_path / "disk"), tmp_path / "lake"
    caplog.set_level(logging.DEBUG, logger="seglake")
    with Meanwhile(once(lambda: _shown(source, lake, LocalEngine(1), -1))) as engine:
        _shown(source, lake, engine, -1)
    waves = [of.getMessage() for of in caplog.records if of.name.endswith(".wave")]
    committed = [re.sub(r"attempt \S+ ", "", text) for text in waves if "decoded" not in text]
    assert committed == ["committed orders generation=1", "another run committed orders first"]


def test_workers_are_logged_by_their_number(tmp_path: Path) -> None:
    stream = io.StringIO()
    with LocalEngine(2) as engine, RunReporter(stream, verbosity=2) as reporter:
        assert reporter.run_tasks(engine, abs, [-1, -2], sizes=[1, 1], text="work") == [1, 2]
    shown = [line.partition("seconds=")[0] for line in stream.getvalue().splitlines()]
    assert shown == [
        "seglake: work",
        "seglake: task_engine.process_pool: opened a pool: processes=2",
        "seglake: progress.run_reporter: work: tasks=2 bytes=2 largest=1 ",
    ]


def test_a_refused_log_is_logged_with_the_reason(tmp_path: Path) -> None:
    with LocalEngine(1) as engine:
        _shown(_log_dir(tmp_path / "disk"), tmp_path / "lake", engine, 0)
        other = _log_dir(tmp_path / "other", b"another value of another cluster")
        shown = _shown(other, tmp_path / "lake", engine, 2)
    assert [line for line in shown if re.search(r"rounds: orders-0: refused: .*orders-0", line)]
