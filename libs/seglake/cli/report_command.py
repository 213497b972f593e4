"""`seglake report`: writes one HTML page about a lake."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from seglake.cli.arguments import parser_of, settings_of
from seglake.cli.outcome import run_job
from seglake.errors import ExitCode


def main(argv: Sequence[str]) -> int:
    """Run `seglake report`. Findings about the lake do not change its exit code."""
    arguments = parser_of("report").parse_args(argv)
    return run_job(partial(_report, arguments), verbose=arguments.verbose > 0, writes=False)


def _report(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.commands import check_report_place, run_report

    check_report_place(arguments.output, settings)
    found = run_report(arguments.lake, arguments.output, settings)
    sys.stdout.write(f"{found.headline}: {arguments.output}\n")
    return ExitCode.DONE
