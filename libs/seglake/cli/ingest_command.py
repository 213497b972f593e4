"""`seglake ingest`: Kafka log segments to Delta tables."""

from collections.abc import Sequence

from seglake.cli.recorded_run import Call, Command, Done, run_recorded


def main(argv: Sequence[str]) -> int:
    """Run `seglake ingest`, and return its exit code (see CONTRIBUTING.md)."""
    return run_recorded(Command("ingest", _ingest, writes=True), argv)


def _ingest(call: Call) -> Done:
    from seglake.commands import RunOptions, run_ingest

    arguments, settings, view = call
    options = call.options(RunOptions)
    summary = run_ingest(arguments.source, arguments.lake, settings, options, view)
    return Done(summary, summary.to_text(is_verbose=arguments.verbose > 0))
