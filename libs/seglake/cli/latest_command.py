"""`seglake latest`: keeps tables with the newest record of each key."""

import argparse
import sys
from collections.abc import Sequence

from seglake.cli.command_run import options_of, run_command
from seglake.settings.settings import Settings


def main(argv: Sequence[str]) -> int:
    """Run `seglake latest`; exit with 3 if a topic was left out."""
    return run_command("latest", _latest, argv, writes=True)


def _latest(arguments: argparse.Namespace, settings: Settings) -> int:
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.latest_commands import LatestOptions, run_latest

    done = run_latest(arguments.lake, settings, options_of(LatestOptions, arguments))
    sys.stdout.write(f"{done.to_json() if arguments.json else done.to_text()}\n")
    return done.exit_code
