"""Base class of the summaries of commands that change a lake."""

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from seglake.findings.findings import Findings, WithFindings


@dataclass(slots=True)
class RunSummary(WithFindings):
    """Fields and JSON of the summary of a run that changes a lake.

    Attributes:
        run_id: label of the run, which is in every row that it wrote.
        lake: path of the lake.
        is_dry_run: whether nothing was written.
        findings: findings for a person, the most urgent first.
        seconds: duration of the run.
    """

    run_id: str
    lake: str
    is_dry_run: bool = False
    findings: Findings = field(default_factory=Findings)
    seconds: float = 0.0

    def to_json(self) -> str:
        """Return the summary as JSON on one line."""
        facts = asdict(replace(self, findings=Findings())) | self.findings.to_mapping()
        facts |= self.shown_facts() | {"exit_code": self.exit_code}
        return json.dumps(facts, sort_keys=True)

    # Any: the types that JSON can hold.
    def shown_facts(self) -> dict[str, Any]:
        """Return facts for JSON that are no fields, or have another form than their field."""
        return {}
