"""How a run began and ended, as events of its log. Effect: writes to a stream."""

import traceback
from collections.abc import Iterator, Mapping
from typing import Any

from seglake.progress.progress_views import EventLog
from seglake.run_records.run_record import RunEnd, RunStart, error_text

_SPANS = {"damaged": "quarantined", "left_damaged": "still_quarantined"}


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
    """Yield one event for each finding of a summary, and for its damage and gaps, with levels."""
    for key, event in _SPANS.items():
        for partition, spans in summary.get(key, {}).items():
            yield "warning", {"event": event, **_place(partition), "spans": spans}
    for key in ("gaps", "left_gaps"):
        for cause, partitions in summary.get(key, {}).items():
            for partition, found in partitions.items():
                yield "warning", {"event": "gap", **_place(partition), "cause": cause, **found}
    for found in summary.get("findings", ()):
        facts = {**found}
        level = "error" if facts.pop("needs_a_look") else "info"
        event, place = facts.pop("kind"), _place(facts.pop("place"))
        yield level, {"event": event, **place, "message": facts.pop("text"), **facts}


def _place(name: str) -> dict[str, object]:
    """Return topic and partition, or what else is named: a folder or nothing."""
    topic, _, number = name.rpartition("-")
    if topic and number.isdecimal():
        return {"topic": topic, "partition": int(number)}
    return {"name": name} if name else {}
