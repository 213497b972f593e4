"""`seglake ingest`: Kafka log segments to Delta tables."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from seglake.cli.arguments import ingest_parser, settings_of
from seglake.cli.outcome import run_job


def main(argv: Sequence[str]) -> int:
    """Run the command; see CONTRIBUTING.md for the exit codes."""
    arguments = ingest_parser().parse_args(argv)
    return run_job(partial(_ingest, arguments), verbose=arguments.verbose > 0, writes=True)


def _ingest(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.api import RunOptions, run_ingest

    options = RunOptions(
        engine=arguments.engine,
        verbosity=arguments.verbose - arguments.quiet,
        run_id=arguments.run_id,
        dry_run=arguments.dry_run,
    )
    summary = run_ingest(arguments.source, arguments.lake, settings, options)
    text = summary.to_text(is_verbose=arguments.verbose > 0)
    sys.stdout.write(f"{summary.to_json() if arguments.json else text}\n")
    return summary.exit_code
