"""What is drawn, written or logged of a position, and numbers for a person."""

import io
import json
import os

import pytest

from seglake.printable import show_bytes, show_count, show_duration
from seglake.progress.progress_views import (
    EventLog,
    EventView,
    LogView,
    Position,
    TerminalView,
    Unit,
    View,
    view_of,
)

_HALF = Position("decoding", 30.0, 512 << 20, 1 << 30)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2


def _be_wide(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.get_terminal_size", lambda handle: os.terminal_size((columns, 24)))


@pytest.mark.parametrize(
    ("stream", "verbosity", "kind", "seconds"),
    [
        (_Terminal(), 0, TerminalView, 0.5),
        (io.StringIO(), 0, LogView, 60.0),
        (io.StringIO(), -1, View, None),
        (_Terminal(), -1, View, None),
    ],
)
def test_a_terminal_is_drawn_twice_a_second_and_a_log_has_a_line_a_minute(
    stream: io.StringIO, verbosity: int, kind: type, seconds: float | None
) -> None:
    view = view_of(stream, verbosity=verbosity)
    assert type(view) is kind
    assert view.every_seconds == seconds


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (_HALF, "decoding: 50% of 1.0 GiB, 17.1 MiB/s, 30 s left"),
        (Position("decoding", 60.0, 0, 1 << 30), "decoding: 0% of 1.0 GiB, 0 B/s"),
        (Position("committing", 61.5), "committing: 1 min 1 s so far"),
        (
            Position("auditing", 10.0, 250, 1000, Unit.ROWS),
            "auditing: 25% of 1,000 rows, 25/s, 30 s left",
        ),
    ],
)
def test_a_line_of_a_log_has_the_percentage_the_rate_and_what_is_left(
    position: Position, text: str
) -> None:
    out = io.StringIO()
    LogView(out).show(position)
    assert out.getvalue() == f"seglake: {text}\n"


def test_a_terminal_has_one_line_and_at_the_end_none(monkeypatch: pytest.MonkeyPatch) -> None:
    _be_wide(100, monkeypatch)
    out = _Terminal()
    view = TerminalView(out)
    view.step("decoding")
    assert out.getvalue() == ""
    view.show(_HALF)
    view.show(_HALF._replace(text="committing"))
    drawn = out.getvalue()
    assert "\n" not in drawn
    first, second = (line.rstrip() for line in drawn.strip("\r").split("\r"))
    assert first.startswith("decoding:  50%|")
    assert first.endswith("| 512M/1.00G [00:30<00:30, 17.9MB/s]")
    assert second.startswith("committing:  50%|")
    assert len(first) <= 97  # ^C finds room behind it
    view.close()
    assert out.getvalue().endswith("\r" + " " * 99 + "\r")


@pytest.mark.parametrize(
    ("position", "shown"),
    [
        (_HALF, "decoding: 50%, 00:30 left"),
        (Position("starting Spark", 5.0), "starting Spark [00:05]"),
    ],
)
def test_a_narrow_terminal_and_a_step_of_unknown_length_need_no_bar(
    position: Position, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _be_wide(40, monkeypatch)
    out = _Terminal()
    TerminalView(out).show(position)
    assert out.getvalue().strip() == shown


def test_a_line_of_the_debug_log_is_above_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    _be_wide(60, monkeypatch)
    out = _Terminal()
    view = TerminalView(out)
    view.show(_HALF)
    view.debug("rounds", "a replica is chosen")
    lines = out.getvalue().split("\r")
    assert lines[-1] == "seglake: rounds: a replica is chosen\n"
    assert lines[-2].strip() == ""


def test_each_event_is_a_line_of_json_with_the_fields_of_its_run() -> None:
    out = io.StringIO()
    view = EventView(EventLog(out, {"command": "ingest", "run_id": "r1"}))
    view.step("decoding")
    view.show(_HALF)
    view.debug("rounds", "a replica is chosen")
    events = [json.loads(line) for line in out.getvalue().splitlines()]
    assert {(event["command"], event["run_id"]) for event in events} == {("ingest", "r1")}
    assert [(event["event"], event["level"]) for event in events] == [
        ("step", "info"),
        ("progress", "info"),
        ("debug", "debug"),
    ]
    assert events[1]["step"] == "decoding"
    assert (events[1]["done_bytes"], events[1]["total_bytes"]) == (512 << 20, 1 << 30)
    assert (events[1]["percent"], events[1]["seconds_left"]) == (50.0, 30)


def test_a_quiet_run_has_no_events_of_its_steps() -> None:
    out = io.StringIO()
    view = EventView(EventLog(out, {}), verbosity=-1)
    view.step("decoding")
    assert (view.every_seconds, out.getvalue()) == (None, "")


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
