"""How a run began and ended, as events of its log. Effect: writes to a stream."""

import traceback
from collections.abc import Iterator, Mapping
from typing import Any

from seglake.pipelines.progress_views import EventLog
from seglake.run_records.run_record import RunEnd, RunStart, error_text

# Of the summary: what is named by partition, how grave it is, and under which name its facts go.
_BY_PARTITION = {
    "damaged": ("quarantined", "warning", "spans"),
    "left_damaged": ("still_quarantined", "warning", "spans"),
    "left_out": ("left_out", "error", "reason"),
    "refused": ("refused", "error", "reason"),
    "conflicts": ("conflict", "warning", "batches"),
}
_LISTS = {
    "not_ingested_yet": "info",
    "blocked": "error",
    "not_on_disk": "error",
    "stuck": "error",
    "lost_elections": "info",
}
_TEXTS = {
    "notes": "info",
    "problems": "error",
    "limits_crossed": "error",
    "superseded": "warning",
    "contradicted": "warning",
}


class EventRecord:
    """Writes `started`, an event for each thing that a person may want to know, and the end."""

    def __init__(self, log: EventLog, *, has_traceback: bool = False) -> None:
        self._log = log
        self._has_traceback = has_traceback

    def begin(self, start: RunStart) -> None:
        self._log.write("started", sources=[*start.sources], lake=start.lake, engine=start.engine)

    def end(self, start: RunStart, end: RunEnd) -> None:
        for level, facts in found_events(end.summary):
            self._log.write(facts.pop("event"), level=level, **facts)
        how: dict[str, Any] = {"exit_code": int(end.exit_code), "seconds": end.seconds}
        if end.error is not None:
            facts = {**how, "kind": type(end.error).__name__, "message": error_text(end.error)}
            if self._has_traceback:
                facts["traceback"] = "".join(traceback.format_exception(end.error))
            self._log.write("failed", level="error", **facts)
            return
        counts = {
            name: value
            for name, value in end.summary.items()
            if isinstance(value, int | float) and name not in how
        }
        level = "warning" if end.exit_code else "info"
        self._log.write("finished", level=level, **how, **counts)


# Any: values of JSON.
def found_events(summary: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a summary names, one event each, with its level."""
    for key, (event, level, name) in _BY_PARTITION.items():
        for partition, found in summary.get(key, {}).items():
            yield level, {"event": event, **_place(partition), name: found}
    for key in ("gaps", "left_gaps"):
        for cause, partitions in summary.get(key, {}).items():
            for partition, found in partitions.items():
                yield "warning", {"event": "gap", **_place(partition), "cause": cause, **found}
    for key, level in _LISTS.items():
        for entry in summary.get(key, ()):
            facts = {**entry}
            yield level, {"event": key, **_place(facts.pop("partition")), **facts}
    for key, level in _TEXTS.items():
        for text in summary.get(key, ()):
            yield level, {"event": key.removesuffix("s"), "message": text}


def _place(name: str) -> dict[str, object]:
    """Topic and partition, or what else is named: a folder that is none."""
    topic, _, number = name.rpartition("-")
    if topic and number.isdecimal():
        return {"topic": topic, "partition": int(number)}
    return {"name": name}
