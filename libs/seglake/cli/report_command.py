"""`seglake report`: writes one HTML page about a lake."""

import argparse
import sys
from collections.abc import Sequence

from seglake.cli.command_run import run_command
from seglake.errors import ExitCode
from seglake.settings.settings import Settings


def main(argv: Sequence[str]) -> int:
    """Run `seglake report`. Findings about the lake do not change its exit code."""
    return run_command("report", _report, argv)


def _report(arguments: argparse.Namespace, settings: Settings) -> int:
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.commands import run_report
    from seglake.environment.output_places import check_report_place

    check_report_place(arguments.output, settings)
    found = run_report(arguments.lake, arguments.output, settings)
    sys.stdout.write(f"{found.headline}: {arguments.output}\n")
    return ExitCode.DONE
