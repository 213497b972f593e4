"""`seglake audit`: proves that nothing is missing; what is not explained ends with 3."""

from collections.abc import Sequence
from functools import partial

from seglake.cli import report_option
from seglake.cli.recorded_run import Call, Command, Done, run_recorded


def main(argv: Sequence[str]) -> int:
    """Run the command; see CONTRIBUTING.md for the exit codes."""
    return run_recorded(Command("audit", _audit, writes=False), argv)


def _audit(call: Call) -> Done:
    from seglake.commands import run_audit

    arguments, settings, options, view = call
    found = run_audit(arguments.lake, arguments.source, settings, options, view)
    told = partial(report_option.told_by_audit, found)
    write_report = partial(report_option.write, arguments, settings, found, told)
    text = found.to_text(is_quiet=arguments.quiet > 0)
    return Done(found, text, write_report)
