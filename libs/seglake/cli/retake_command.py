"""`seglake retake`: re-ingests ranges that an unclean leader election replaced."""

from collections.abc import Sequence

from seglake.cli.recorded_run import Call, Command, Done, run_recorded


def main(argv: Sequence[str]) -> int:
    """Run `seglake retake`, and return its exit code (see CONTRIBUTING.md)."""
    return run_recorded(Command("retake", _retake, writes=True), argv)


def _retake(call: Call) -> Done:
    from seglake.commands import RetakeOptions, run_retake

    arguments, settings, view = call
    options = call.options(RetakeOptions)
    summary = run_retake(arguments.source, arguments.lake, settings, options, view)
    return Done(summary, summary.to_text())
