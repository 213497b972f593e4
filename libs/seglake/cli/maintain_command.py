"""`seglake maintain`: keeps a lake's tables small and quick to open."""

from collections.abc import Sequence

from seglake.cli.recorded_run import Call, Command, Done, run_recorded


def main(argv: Sequence[str]) -> int:
    """Run `seglake maintain`, and return its exit code (see CONTRIBUTING.md)."""
    return run_recorded(Command("maintain", _maintain, writes=True), argv)


def _maintain(call: Call) -> Done:
    from seglake.commands import MaintainOptions, run_maintain

    summary = run_maintain(
        call.arguments.lake, call.settings, call.options(MaintainOptions), call.view
    )
    return Done(summary, summary.to_text())
