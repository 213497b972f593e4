"""The meaning of a job's exit code and summary for Airflow. Does not import Airflow."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

_MOST_LINES = 20


class ExitCode(IntEnum):
    """Exit codes of seglake after which Airflow does not retry; after others, it does."""

    DONE = 0
    WRONG_CALL = 2  # nothing was changed, and a retry would not help
    LOOK = 3  # done and consistent, but a person should look


# Any: the types that JSON can hold.
@dataclass(frozen=True)
class Outcome:
    """Outcome of a successful job; `summary` is empty if the job's output is not accessible."""

    exit_code: ExitCode
    summary: Mapping[str, Any]

    def to_mapping(self) -> dict[str, Any]:
        """Return the outcome for later tasks, and for DAGs that the asset's event triggers."""
        known = ("run_id", "records", "topics", "recovered_topics", "quarantined")
        reported = {name: self.summary[name] for name in known if name in self.summary}
        return {"exit_code": int(self.exit_code), **reported, "look_at": self.look_at()}

    def look_at(self) -> list[str]:
        """Return the reasons why a person should check the run, one line each."""
        if self.exit_code is not ExitCode.LOOK:
            return []
        lines = [
            f"{found['kind'].replace('_', ' ')}: {found['text']}"
            for found in self.summary.get("findings", ())
            if found["needs_a_look"]
        ]
        shown, rest = lines[:_MOST_LINES], len(lines) - _MOST_LINES
        return [*shown, f"and {rest} more: see the summary line in the log"] if rest > 0 else shown


def summary_of(line: str) -> Mapping[str, Any] | None:
    """Return the summary in a line of a job's output; None for other lines."""
    if not line.startswith("{"):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "exit_code" in found else None
