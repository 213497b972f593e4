"""`seglake erase`: removes records from a lake, now and in later runs."""

from collections.abc import Sequence

from seglake.cli.recorded_run import Call, Command, Done, run_recorded


def main(argv: Sequence[str]) -> int:
    """Run `seglake erase`, and return its exit code (see CONTRIBUTING.md)."""
    return run_recorded(Command("erase", _erase, writes=True), argv)


def _erase(call: Call) -> Done:
    from seglake.erase_commands import EraseOptions, run_erase

    arguments, settings, view = call
    if arguments.key_hex is not None:
        arguments.key = arguments.key_hex
    summary = run_erase(arguments.lake, settings, call.options(EraseOptions), view)
    return Done(summary, summary.to_text())
