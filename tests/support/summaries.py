"""Summaries of runs that never were, made from the flat names that `--json` has."""

from dataclasses import fields
from typing import Any

from seglake.findings.findings import Findings
from seglake.ingest_steps.report.ingest_summary import (
    IngestSummary,
    PlannedWork,
    RunCounts,
)


# Any: the values have many types.
def made_summary(**facts: Any) -> IngestSummary:
    """A summary in which all but these facts are as of a run that met nothing."""
    parts: dict[str, Any] = {}
    for name, kind in (("planned", PlannedWork), ("counts", RunCounts)):
        own = {field.name: facts.pop(field.name) for field in fields(kind) if field.name in facts}
        parts[name] = kind(**own)
    parts["findings"] = Findings(facts.pop("findings", ()))
    named = {"run_id": "run", "source_id": "source", "lake": "/lake", **facts}
    return IngestSummary(**named, **parts)
