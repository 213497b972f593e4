"""`seglake replay`: decodes quarantined bytes again, and fills gaps."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from seglake.cli.arguments import replay_parser, settings_of
from seglake.cli.outcome import run_job


def main(argv: Sequence[str]) -> int:
    """Run the command; see CONTRIBUTING.md for the exit codes."""
    arguments = replay_parser().parse_args(argv)
    return run_job(partial(_replay, arguments), verbose=arguments.verbose > 0, writes=True)


def _replay(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.api import RunOptions, run_replay

    options = RunOptions(
        engine=arguments.engine,
        verbosity=arguments.verbose - arguments.quiet,
        run_id=arguments.run_id,
        dry_run=arguments.dry_run,
    )
    summary = run_replay(arguments.lake, arguments.source, settings, options)
    text = summary.to_text(is_verbose=arguments.verbose > 0)
    sys.stdout.write(f"{summary.to_json() if arguments.json else text}\n")
    return summary.exit_code
