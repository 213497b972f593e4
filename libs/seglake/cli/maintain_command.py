"""`seglake maintain`: keeps a lake's tables small and quick to open."""

from collections.abc import Sequence

from seglake.cli.recorded_run import Call, Command, Done, run_recorded


def main(argv: Sequence[str]) -> int:
    """Run `seglake maintain`, and return its exit code (see CONTRIBUTING.md)."""
    return run_recorded(Command("maintain", _maintain, writes=True), argv)


def _maintain(call: Call) -> Done:
    from seglake.commands import MaintainOptions, run_maintain

    arguments, settings, options, view = call
    more = MaintainOptions(**options, tables=arguments.tables, upgrade=arguments.upgrade)
    summary = run_maintain(arguments.lake, settings, more, view)
    return Done(summary, summary.to_text())
