"""`seglake latest`: keeps tables with the newest record of each key."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from seglake.cli.arguments import parser_of, settings_of
from seglake.cli.outcome import run_job


def main(argv: Sequence[str]) -> int:
    """Run `seglake latest`; exit with 3 if a topic was left out."""
    arguments = parser_of("latest").parse_args(argv)
    return run_job(
        partial(_latest, arguments),
        verbose=arguments.verbose > 0,
        writes=not arguments.dry_run,
    )


def _latest(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.latest_commands import LatestOptions, run_latest

    options = LatestOptions(
        verbosity=arguments.verbose - arguments.quiet,
        run_id=arguments.run_id,
        rebuild=arguments.rebuild,
        dry_run=arguments.dry_run,
    )
    done = run_latest(arguments.lake, settings, options)
    if arguments.json:
        sys.stdout.write(f"{done.to_json()}\n")
    else:
        sys.stdout.write(f"{done.to_text()}\n")
    return done.exit_code
