"""Shows broken tests at the end of a run: a few lines each, with the command that runs it alone."""

import shlex

import pytest

_TESTS_SHOWN = 12
_LINES_SHOWN = 12
_PYTHON = ".venv/bin/python"


class OneScreen:
    """A pytest plug-in that closes a run with what was expected, what came, and how to go on."""

    def __init__(self) -> None:
        self._failed: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for report in self._failed[:_TESTS_SHOWN]:
            terminalreporter.section(f"broken: {_name(report)}", sep="-")
            for line in _reasons(report)[:_LINES_SHOWN]:
                terminalreporter.write_line(line[:200])
            terminalreporter.write_line(f"alone: {_PYTHON} -m pytest {shlex.quote(_name(report))}")
        if len(self._failed) > _TESTS_SHOWN:
            terminalreporter.write_line(f"and {len(self._failed) - _TESTS_SHOWN} more, named below")


def _name(report: pytest.TestReport) -> str:
    """Without the group that workers add to it."""
    name, at, group = report.nodeid.rpartition("@")
    return name if at and "]" not in group else report.nodeid


def _reasons(report: pytest.TestReport) -> list[str]:
    """The lines that pytest marks as the error."""
    marked = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
    return [line[1:].strip("\n") for line in marked] or report.longreprtext.splitlines()
