"""`seglake audit`: proves that nothing is missing; what is not explained ends with 3."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from seglake.cli.arguments import audit_parser, settings_of
from seglake.cli.outcome import run_job


def main(argv: Sequence[str]) -> int:
    """Run the command; see CONTRIBUTING.md for the exit codes."""
    arguments = audit_parser().parse_args(argv)
    return run_job(partial(_audit, arguments), verbose=arguments.verbose > 0, writes=False)


def _audit(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.api import EngineOptions, run_audit

    options = EngineOptions(
        engine=arguments.engine,
        verbosity=arguments.verbose - arguments.quiet,
    )
    found = run_audit(arguments.lake, arguments.source, settings, options)
    sys.stdout.write(f"{found.to_json() if arguments.json else found.to_text()}\n")
    return found.exit_code
