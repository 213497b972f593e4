"""What a job's exit code and summary line mean for Airflow. Pure; knows nothing of Airflow."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

_MOST_LINES = 20


class ExitCode(IntEnum):
    """Those that are not simply tried again; the rest is (1: failed, 130 or a signal: stopped)."""

    DONE = 0
    WRONG_CALL = 2  # nothing was touched, and it will not get better by itself
    LOOK = 3  # done and consistent, but a person should look


# Any: values of JSON.
@dataclass(frozen=True)
class Outcome:
    """How a job ended that is done. `summary` is empty where the job's output is not to be seen."""

    exit_code: ExitCode
    summary: Mapping[str, Any]

    def to_mapping(self) -> dict[str, Any]:
        """What other tasks, and those that the asset starts, are told."""
        known = ("run_id", "records", "topics", "recovered_topics", "quarantined")
        told = {name: self.summary[name] for name in known if name in self.summary}
        return {"exit_code": int(self.exit_code), **told, "look_at": self.look_at()}

    def look_at(self) -> list[str]:
        """Why a person should look, one line each."""
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
    """The summary that a line of a job's output is, None when it is something else."""
    if not line.startswith("{"):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "exit_code" in found else None
