"""`seglake replay`: decodes quarantined bytes again, and fills gaps."""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial

from seglake.cli import report_option
from seglake.cli.arguments import replay_parser, settings_of
from seglake.cli.outcome import run_job


def main(argv: Sequence[str]) -> int:
    """Run the command; see CONTRIBUTING.md for the exit codes."""
    arguments = replay_parser().parse_args(argv)
    return run_job(partial(_replay, arguments), verbose=arguments.verbose > 0, writes=True)


def _replay(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    report_option.check(arguments, settings)
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.api import RunOptions, run_replay
    from seglake.environment.warm_up import say_if_first_run

    options = RunOptions(
        engine=arguments.engine,
        verbosity=arguments.verbose - arguments.quiet,
        run_id=arguments.run_id,
        dry_run=arguments.dry_run,
    )
    if options["verbosity"] >= 0:
        say_if_first_run(os.environ)
    summary = run_replay(arguments.lake, arguments.source, settings, options)
    text = summary.to_text(is_verbose=arguments.verbose > 0)
    sys.stdout.write(f"{summary.to_json() if arguments.json else text}\n")
    report_option.write(arguments, settings, summary)
    return summary.exit_code
