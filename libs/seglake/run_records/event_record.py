"""Records a run's start, findings and end as events of its log. Writes to a stream."""

import traceback
from collections.abc import Iterator, Mapping
from typing import Any

from seglake.progress.progress_views import EventLog
from seglake.run_records.run_record import RunEnd, RunStart, error_text

_SPANS = {"damaged": "quarantined", "left_damaged": "still_quarantined"}


class EventRecord:
    """Recorder that writes `started`, one event for each finding, and `finished` or `failed`."""

    def __init__(self, log: EventLog, *, has_traceback: bool = False) -> None:
        """Prepare the recorder.

        Args:
            log: the log to write to.
            has_traceback: whether to add the traceback to `failed`.
        """
        self._log = log
        self._has_traceback = has_traceback

    def begin(self, start: RunStart) -> None:
        """Write the event `started`."""
        self._log.write("started", sources=[*start.sources], lake=start.lake, engine=start.engine)

    def end(self, start: RunStart, end: RunEnd) -> None:
        """Write an event for each finding, then `finished` or `failed`."""
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


# Any: the types that JSON can hold.
def found_events(summary: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield an event with its level for each finding, gap and damaged span of a summary."""
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
    """Return topic and partition of a name; the name itself if it is not a partition's."""
    topic, _, number = name.rpartition("-")
    if topic and number.isdecimal():
        return {"topic": topic, "partition": int(number)}
    return {"name": name} if name else {}
