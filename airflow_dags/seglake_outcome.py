"""What a job's exit code and summary line mean for Airflow. Pure; knows nothing of Airflow."""

import json
from collections.abc import Iterable, Mapping
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
        conflicts = [
            name
            for name, counts in self.summary.get("conflicts", {}).items()
            if any(count for kind, count in counts.items() if kind != "lost")
        ]
        lines = [
            *_labelled("refused", self.summary.get("refused", {}).values()),
            *_labelled("left out", self.summary.get("left_out", {}).values()),
            *_labelled("not read", _not_read(self.summary.get("unread_files", ()))),
            *_labelled("blocked", map(_blocked, self.summary.get("blocked", ()))),
            *_labelled("stuck", map(_stuck, self.summary.get("stuck", ()))),
            *_labelled("taken in doubt", self.summary.get("ingested_unknown_outcomes", ())),
            *_labelled("taken otherwise before", self.summary.get("contradicted", ())),
            *_labelled("lost an election", self.summary.get("superseded", ())),
            *_labelled("limit crossed", self.summary.get("limits_crossed", ())),
            *_labelled("copies contradict each other", sorted(conflicts)),
            *_labelled("not compacted", _not_compacted(self.summary.get("tables", ()))),
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


def _not_read(files: Iterable[Mapping[str, Any]]) -> list[str]:
    return [
        f"{found['files']} files ({found['kind']}, {found['example']}) in {found['folder']}"
        for found in files
        if not found["is_accounted"]
    ]


def _blocked(found: Mapping[str, Any]) -> str:
    return f"{found['partition']}: {found['reason']}"


def _stuck(found: Mapping[str, Any]) -> str:
    return (
        f"{found['partition']} stands at {found['bound_offset']} since {found['since']} "
        f"({found['stopped_by']}), and its log has grown to {found['log_end_offset']}"
    )


def _not_compacted(tables: Iterable[Mapping[str, Any]]) -> list[str]:
    return [f"{table['table']}: {table['failure']}" for table in tables if table["failure"]]


def _labelled(label: str, texts: Iterable[str]) -> list[str]:
    return [f"{label}: {text}" for text in texts]
