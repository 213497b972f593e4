"""`seglake audit`: proves that nothing is missing; what is not explained ends with 3."""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial

from seglake.cli import report_option
from seglake.cli.arguments import audit_parser, settings_of
from seglake.cli.outcome import run_job


def main(argv: Sequence[str]) -> int:
    """Run the command; see CONTRIBUTING.md for the exit codes."""
    arguments = audit_parser().parse_args(argv)
    return run_job(partial(_audit, arguments), verbose=arguments.verbose > 0, writes=False)


def _audit(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    report_option.check(arguments, settings)
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.api import EngineOptions, run_audit
    from seglake.environment.warm_up import say_if_first_run

    options = EngineOptions(
        engine=arguments.engine,
        verbosity=arguments.verbose - arguments.quiet,
    )
    if options["verbosity"] >= 0:
        say_if_first_run(os.environ)
    found = run_audit(arguments.lake, arguments.source, settings, options)
    sys.stdout.write(f"{found.to_json() if arguments.json else found.to_text()}\n")
    report_option.write(arguments, settings, found, lambda: report_option.told_by_audit(found))
    return found.exit_code
