"""Runs a command on a lake: settings, progress, run records, output and exit code.

Commands differ only in the function that they call and in some options.
"""

import argparse
import json
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from seglake.cli import report_option
from seglake.cli.arguments import settings_of
from seglake.cli.command_run import options_of, parsed
from seglake.cli.outcome import run_job
from seglake.cli.streams import write_out
from seglake.environment.output_places import may_be_written
from seglake.errors import WrongCallError
from seglake.printable import on_one_line

if TYPE_CHECKING:
    from seglake.progress.progress_views import EventLog, View
    from seglake.run_records.run_record import RunRecorder, RunStart
    from seglake.settings.settings import Settings


Options = TypeVar("Options")


class Summary(report_option.Reported, Protocol):
    """Result of a command, as its function in `commands` returns it."""

    def to_json(self) -> str:
        """Return the summary as JSON on one line."""


class Call(NamedTuple):
    """Arguments for every recorded command's function."""

    arguments: argparse.Namespace
    settings: "Settings"
    view: "View | None"

    def options(self, kind: type[Options]) -> Options:
        """Return the arguments that are options of the command's function."""
        return options_of(kind, self.arguments)


class Done(NamedTuple):
    """Result of a command: a summary and its text."""

    summary: Summary
    text: str


class Command(NamedTuple):
    """Command on a lake whose runs are recorded.

    Attributes:
        name: the command's name on the command line.
        run: function that calls the pipeline.
        writes: whether the command may commit to a lake.
    """

    name: str
    run: Callable[[Call], Done]
    writes: bool


def run_recorded(command: Command, argv: Sequence[str]) -> int:
    """Run one of the recorded commands, and return its exit code (see CONTRIBUTING.md)."""
    arguments = parsed(command.name, argv)
    arguments.run_id = arguments.run_id or uuid.uuid4().hex
    log = _event_log(command, arguments) if arguments.log_format == "json" else None
    return run_job(
        partial(_run, command, arguments, log),
        verbose=arguments.verbose > 0,
        writes=command.writes,
        explains=log is None,
    )


def _run(command: Command, arguments: argparse.Namespace, log: "EventLog | None") -> int:
    # Imported here, so that --help is answered at once.
    from seglake.run_records.run_record import recorded

    recorders = [] if log is None else [_event_record(log, arguments)]
    start = _start(command, arguments)
    with recorded(recorders, start) as hand_over:
        for recorder in _asked_for(arguments, log):
            recorder.begin(start)
            recorders.append(recorder)
        settings = settings_of(arguments)
        report_option.check(arguments, settings)
        # Imported here, so that wrong calls are answered at once.
        from seglake.commands import NotALakeError

        view = None if log is None else _event_view(log, arguments.verbosity)
        summary, text = command.run(Call(arguments, settings, view))
        in_json = summary.to_json() if arguments.json or recorders else ""
        hand_over(summary.exit_code, json.loads(in_json or "{}"))
        write_out(f"{in_json if arguments.json else text}\n")
        try:
            report_option.write(arguments, settings, summary)
        except NotALakeError as error:  # a run without data has created no lake
            _report(log, f"no report was written: {error}")
    return summary.exit_code


def _start(command: Command, arguments: argparse.Namespace) -> "RunStart":
    from seglake.run_records.run_record import RunStart, shown_place

    return RunStart(
        command=command.name,
        run_id=arguments.run_id,
        engine=arguments.engine,
        sources=[shown_place(source) for source in arguments.source],
        lake=shown_place(arguments.lake),
        writes=command.writes and not arguments.dry_run,
    )


def _event_log(command: Command, arguments: argparse.Namespace) -> "EventLog":
    from seglake.progress.progress_views import EventLog

    return EventLog(sys.stderr, {"command": command.name, "run_id": arguments.run_id})


def _event_view(log: "EventLog", verbosity: int) -> "View":
    from seglake.progress.progress_views import EventView

    return EventView(log, verbosity=verbosity)


def _event_record(log: "EventLog", arguments: argparse.Namespace) -> "RunRecorder":
    from seglake.run_records.event_record import EventRecord

    return EventRecord(log, has_traceback=arguments.verbose > 0)


def _report(log: "EventLog | None", text: str) -> None:
    if log is None:
        sys.stderr.write(f"seglake: {on_one_line(text)}\n")
    else:
        log.write("notice", level="warning", message=text)


def _asked_for(arguments: argparse.Namespace, log: "EventLog | None") -> "Iterator[RunRecorder]":
    """Yield the requested recorders; import only the packages that these need.

    Raises:
        WrongCallError: a file cannot be written, or a package is not installed.
    """
    report = partial(_report, log)
    for option, target in (("metrics", arguments.metrics), ("openlineage", arguments.openlineage)):
        if target and "://" not in target and not may_be_written(target):
            raise WrongCallError(
                f"--{option} {target} must name a regular file: "
                "pipes and devices are not written to"
            )
    if arguments.metrics:
        from seglake.run_records.metrics_file import MetricsFile

        yield MetricsFile(arguments.metrics, report)
    if arguments.openlineage:
        if find_spec("openlineage") is None:
            raise WrongCallError(
                "--openlineage needs the package openlineage-python, which is not installed: pip"
                " install openlineage-python"
            )
        from seglake.run_records.lineage import Lineage

        yield Lineage(arguments.openlineage, report)
