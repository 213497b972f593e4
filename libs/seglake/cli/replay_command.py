"""`seglake replay`: decodes quarantined bytes again, and fills gaps."""

from collections.abc import Sequence

from seglake.cli.recorded_run import Call, Command, Done, run_recorded


def main(argv: Sequence[str]) -> int:
    """Run `seglake replay`, and return its exit code (see CONTRIBUTING.md)."""
    return run_recorded(Command("replay", _replay, writes=True), argv)


def _replay(call: Call) -> Done:
    from seglake.commands import RunOptions, run_replay

    arguments, settings, view = call
    options = call.options(RunOptions)
    summary = run_replay(arguments.lake, arguments.source, settings, options, view)
    return Done(summary, summary.to_text(is_verbose=arguments.verbose > 0))
