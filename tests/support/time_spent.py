"""Measures where the time of a test run goes: `pytest --time-spent`, or `make test-times`.

Each test's seconds, by what they were spent on: conversions (an ingest or a replay in process),
processes (started and waited for), Spark's start, sample disks (unpacked or made), and the rest.
What is inside something else counts for the outer one. The tables are printed at the end, and how
long the run took in units of a fixed piece of work, by which machines are compared.
"""

import functools
import importlib
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, cast

import pytest

_CONVERSIONS, _PROCESSES, _SPARK, _DISKS = "conversions", "processes", "Spark", "disks"
_KINDS = (_CONVERSIONS, _PROCESSES, _SPARK, _DISKS)
_CALLS = (
    ("seglake.pipelines.segment_ingest.ingest", "ingest", _CONVERSIONS),
    ("seglake.pipelines.lake_replay.replay", "replay", _CONVERSIONS),
    ("support.broker_disks", "_unpack", _DISKS),
    ("support.made_logs", "write_over", _DISKS),
)
_FIXTURES_SHOWN = 15
_PROPERTY = "time_spent"
_NS = 1_000_000_000


class TimeSpent:
    """A pytest plug-in; under several workers each measures, and the controller prints."""

    def __init__(self) -> None:
        self._spent_ns: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._fixtures: Counter[str] = Counter()
        self._is_inside = False
        self._reports: list[pytest.TestReport] = []
        self._fixed_work_ns: list[int] = []
        self._started_ns = 0

    def install(self) -> None:
        """Wrap what is timed, also under the names that modules have bound to it already."""
        for module, name, kind in _CALLS:
            plain = getattr(importlib.import_module(module), name)
            timed = self._timed(kind, plain)
            for user in list(sys.modules.values()):
                if getattr(user, name, None) is plain:
                    setattr(user, name, timed)
        for name in ("__init__", "communicate", "wait"):
            is_start = name == "__init__"
            timed = self._timed(_PROCESSES, getattr(subprocess.Popen, name), is_counted=is_start)
            setattr(subprocess.Popen, name, timed)

    # Any: whatever is called.
    def _timed(
        self, kind: str, call: Callable[..., Any], *, is_counted: bool = True
    ) -> Callable[..., Any]:
        @functools.wraps(call)
        def timed(*args: Any, **kwargs: Any) -> Any:
            with self._spending(kind, is_counted=is_counted):
                return call(*args, **kwargs)

        return timed

    @contextmanager
    def _spending(self, kind: str, *, is_counted: bool = True) -> Iterator[None]:
        if self._is_inside:
            yield
            return
        self._is_inside = True
        started = time.perf_counter_ns()
        try:
            yield
        finally:
            self._is_inside = False
            self._spent_ns[kind] += time.perf_counter_ns() - started
            self._counts[kind] += is_counted

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        started = time.perf_counter_ns()
        try:
            if fixturedef.argname == "spark_session":
                with self._spending(_SPARK):
                    return (yield)
            return (yield)
        finally:
            name = f"{fixturedef.baseid}::{fixturedef.argname}"
            self._fixtures[name] += time.perf_counter_ns() - started

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        try:
            return (yield)
        finally:
            spent = [dict(self._spent_ns), dict(self._counts), dict(self._fixtures)]
            item.user_properties.append((_PROPERTY, spent))
            for counter in (self._spent_ns, self._counts, self._fixtures):
                counter.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            self._fixed_work_ns.append(_fixed_work_ns())
            self._started_ns = time.perf_counter_ns()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        whole_ns = time.perf_counter_ns() - self._started_ns
        self._fixed_work_ns.append(_fixed_work_ns())
        terminalreporter.section("where the time went, in seconds")
        for line in _lines(self._reports):
            terminalreporter.write_line(line)
        fixed_ns = sum(self._fixed_work_ns) / len(self._fixed_work_ns)
        terminalreporter.write_line("")
        terminalreporter.write_line(
            f"the run took {whole_ns / _NS:.0f} s, {whole_ns / fixed_ns:.0f} times a fixed piece of"
            f" work of {fixed_ns / _NS:.2f} s"
        )


def _fixed_work_ns() -> int:
    """Return how long this Python takes for fixed arithmetic on this machine, in ns."""
    started = time.perf_counter_ns()
    sum(number * number % 7 for number in range(10_000_000))
    return time.perf_counter_ns() - started


def _lines(reports: list[pytest.TestReport]) -> Iterator[str]:
    by_folder: dict[str, Counter[str]] = defaultdict(Counter)
    functions: dict[str, set[str]] = defaultdict(set)
    for report in reports:
        folder = "/".join(PurePath(report.nodeid.partition("::")[0]).parts[:2])
        functions[folder].add(report.nodeid.partition("[")[0])
        by_folder[folder]["all"] += round(report.duration * _NS)
        if report.when == "teardown":
            by_folder[folder]["tests"] += 1
            spent_ns, counts, _ = _spent(report)
            by_folder[folder].update(spent_ns)
            by_folder[folder].update({f"{kind} n": count for kind, count in counts.items()})
    kinds = "".join(f"{kind:>15}" for kind in _KINDS)
    yield f"{'folder':24}{'tests':>7}{'functions':>11}{'s':>7}{kinds}"
    total: Counter[str] = Counter()
    for folder, found in sorted(by_folder.items(), key=lambda item: -item[1]["all"]):
        total.update(found)
        yield _line(folder, len(functions[folder]), found)
    yield _line("all", sum(map(len, functions.values())), total)
    yield ""
    yield from _fixture_lines(report for report in reports if report.when == "teardown")


def _fixture_lines(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    total: Counter[str] = Counter()
    uses: Counter[str] = Counter()
    for report in reports:
        _, _, fixtures = _spent(report)
        total.update(fixtures)
        uses.update(fixtures.keys())
    yield f"{'fixture':72}{'times':>7}{'s':>8}"
    for name, spent_ns in total.most_common(_FIXTURES_SHOWN):
        yield f"{name:72}{uses[name]:7}{spent_ns / _NS:8.1f}"


def _spent(report: pytest.TestReport) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """The time and count of each kind of a test, and the time of the fixtures that it made."""
    found = next(spent for name, spent in report.user_properties if name == _PROPERTY)
    spent_ns, counts, fixtures_ns = cast("list[dict[str, int]]", found)
    return Counter(spent_ns), Counter(counts), Counter(fixtures_ns)


def _line(folder: str, function_count: int, found: Counter[str]) -> str:
    cells = [f"{found[kind] / _NS:.1f} ({found[f'{kind} n']})" for kind in _KINDS]
    head = f"{folder:24}{found['tests']:7}{function_count:11}{found['all'] / _NS:7.0f}"
    return head + "".join(f"{cell:>15}" for cell in cells)
