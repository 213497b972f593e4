"""The option `--report FILE`: the command also writes the lake's report, with its own output.

This module writes the page.
"""

import argparse
from typing import TYPE_CHECKING, Protocol

from seglake.errors import WrongCallError
from seglake.settings.settings import LakeFormat, Settings

if TYPE_CHECKING:
    from seglake.findings.findings import Findings


class Reported(Protocol):
    """Result of a command whose run a report can show."""

    @property
    def exit_code(self) -> int:
        """Return the exit code that the command ends with."""

    @property
    def findings(self) -> "Findings":
        """Return the findings that a person may have to check."""

    def to_text(self) -> str:
        """Return the lines that the command prints; the report shows them, too."""


def check(arguments: argparse.Namespace, settings: Settings) -> None:
    """Check up front that the report can be written.

    Raises:
        WrongCallError: the report could not be written, or would be empty.
    """
    if arguments.report is None:
        return
    reason = ""
    if getattr(arguments, "dry_run", False):
        reason = "a dry run adds nothing to the lake that a report could show"
    elif settings.write.format is LakeFormat.PARQUET:
        reason = "a conversion to Parquet has no ledger for a report"
    if reason:
        raise WrongCallError(f"{reason}: omit --report")
    from seglake.environment.output_places import check_report_place

    check_report_place(arguments.report, settings)


def write(arguments: argparse.Namespace, settings: Settings, found: Reported) -> None:
    """Write the report if it is requested, with the findings and the output of the command."""
    if arguments.report is None:
        return
    from seglake.commands import run_report
    from seglake.pipelines.lake_report.model import ThisRun

    this_run = ThisRun(
        command=arguments.command,
        run_id=getattr(found, "run_id", None),
        exit_code=found.exit_code,
        lines=tuple(found.to_text().splitlines()),
        findings=tuple(each for each in found.findings if each.kind.needs_a_look),
    )
    run_report(arguments.lake, arguments.report, settings, this_run)
