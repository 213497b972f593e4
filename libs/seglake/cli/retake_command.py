"""`seglake retake`: ingests anew what lost an election after it was ingested."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from seglake.cli.arguments import retake_parser, settings_of
from seglake.cli.outcome import run_job


def main(argv: Sequence[str]) -> int:
    """Run the command; see CONTRIBUTING.md for the exit codes."""
    arguments = retake_parser().parse_args(argv)
    return run_job(partial(_retake, arguments), verbose=arguments.verbose > 0, writes=True)


def _retake(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.api import RetakeOptions, run_retake

    options = RetakeOptions(
        engine=arguments.engine,
        verbosity=arguments.verbose - arguments.quiet,
        run_id=arguments.run_id,
        dry_run=arguments.dry_run,
        partition=arguments.partition,
        all=arguments.all,
    )
    summary = run_retake(arguments.source, arguments.lake, settings, options)
    sys.stdout.write(f"{summary.to_json() if arguments.json else summary.to_text()}\n")
    return summary.exit_code
