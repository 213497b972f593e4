"""The line that shows what a run is doing, and numbers for a person."""

import io

import pytest

from seglake.pipelines.progress import RunReporter, show_bytes, show_count, show_duration


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_is_overwritten_and_taken_away() -> None:
    out = _Terminal()
    reporter = RunReporter(out)
    reporter.step("reading the ledger")
    reporter.step("planning")
    reporter.clear()
    shown = out.getvalue().split("\r")
    assert shown == ["", "reading the ledger", "planning".ljust(18), " " * 8, ""]
    reporter.clear()
    assert out.getvalue().count("\r") == 4


def test_the_last_task_is_shown_however_soon_it_comes() -> None:
    out = _Terminal()
    on_done = RunReporter(out).counting("decoding", [1024, 2048, 1024])
    for count in (1, 2, 3):
        on_done(count)
    shown = out.getvalue().split("\r")[1:]
    assert shown[0].startswith("decoding: 1 of 3 tasks, 1.0 KiB of 4.0 KiB, ")
    assert [line[:18] for line in shown[1:]] == ["decoding: 3 of 3 t"]  # no second so soon


@pytest.mark.parametrize(("verbosity", "is_said"), [(-1, False), (0, True), (1, True)])
def test_what_a_person_should_know_now_has_a_line_of_its_own(verbosity: int, is_said: bool) -> None:
    out = _Terminal()
    reporter = RunReporter(out, verbosity=verbosity)
    reporter.step("planning")
    reporter.say("somebody else is here")
    assert out.getvalue().endswith("\rseglake: somebody else is here\n") == is_said
    assert ("somebody" in out.getvalue()) == is_said


@pytest.mark.parametrize(
    ("stream", "verbosity", "shown"),
    [
        (io.StringIO(), 0, ""),
        (_Terminal(), -1, ""),
        (io.StringIO(), 1, "planning\n"),
        (_Terminal(), 1, "planning\n\rplanning"),
    ],
)
def test_what_is_no_terminal_has_lines_only_if_they_are_wanted(
    stream: io.StringIO, verbosity: int, shown: str
) -> None:
    reporter = RunReporter(stream, verbosity=verbosity)
    reporter.step("planning")
    reporter.counting("planning", [])
    assert stream.getvalue() == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1 << 30, "1.0 GiB"),
        (1 << 50, "1024.0 TiB"),
    ],
)
def test_bytes_have_the_largest_unit_that_fits(count: int, shown: str) -> None:
    assert show_bytes(count) == shown


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1 s"),
        (61_001, "1 min 1 s"),
        (3_600_000, "1 h"),
        (90_000_000, "1 d 1 h"),
    ],
)
def test_a_duration_has_its_largest_unit_and_the_one_below(milliseconds: int, shown: str) -> None:
    assert show_duration(milliseconds) == shown


def test_one_thing_is_not_many() -> None:
    assert [show_count(n, "gap") for n in (0, 1, 2)] == ["0 gaps", "1 gap", "2 gaps"]
    assert show_count(2, "batch", "batches") == "2 batches"
