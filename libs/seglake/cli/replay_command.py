"""`seglake replay`: decodes quarantined bytes again, and fills gaps."""

from collections.abc import Sequence
from functools import partial

from seglake.cli import report_option
from seglake.cli.recorded_run import Call, Command, Done, run_recorded


def main(argv: Sequence[str]) -> int:
    """Run the command; see CONTRIBUTING.md for the exit codes."""
    return run_recorded(Command("replay", _replay, writes=True), argv)


def _replay(call: Call) -> Done:
    from seglake.commands import run_replay

    arguments, settings, options, view = call
    summary = run_replay(arguments.lake, arguments.source, settings, options, view)
    write_report = partial(report_option.write, arguments, settings, summary)
    return Done(summary, summary.to_text(is_verbose=arguments.verbose > 0), write_report)
