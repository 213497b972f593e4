"""Findings on partitions whose log grows while the upper bound has long stayed the same."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.kafka_log.observation import Observation, StoppedBy
from seglake.printable import show_count, show_duration

_BOUNDS = {
    StoppedBy.HIGH_WATERMARK: "the high watermark",
    StoppedBy.OPEN_TRANSACTION: "the last stable offset",
    StoppedBy.NO_HIGH_WATERMARK: "the log start (there is no high watermark)",
}


def stuck_partitions(
    observations: Iterable[Observation], now: datetime, limit: timedelta | None
) -> list[Finding]:
    """Return findings on stuck partitions, the longest stuck first."""
    if limit is None:
        return []
    found = [
        _stuck(observation, now) for observation in observations if observation.is_stuck(now, limit)
    ]
    return sorted(
        found,
        key=lambda stuck: (
            -stuck.facts["standing_ms"],
            stuck.facts["bound_offset"] - stuck.facts["log_end_offset"],
            stuck.place,
        ),
    )


def _stuck(observation: Observation, now: datetime) -> Finding:
    since = observation.waiting_since or now
    # Any: the types that JSON can hold.
    facts: dict[str, Any] = {
        "stopped_by": observation.stopped_by,
        "bound_offset": observation.next_offset or 0,
        "log_end_offset": observation.log_end_offset or 0,
        "moved_offsets": observation.moved_offsets,
        "since": since.astimezone(UTC).isoformat(timespec="seconds"),
        "standing_ms": (now - since) // timedelta(milliseconds=1),
    }
    name, bound, end = str(observation.key), facts["bound_offset"], facts["log_end_offset"]
    text = (
        f"{name}: {_BOUNDS[observation.stopped_by]} has been at {bound} for "
        f"{show_duration(facts['standing_ms'])}, since {facts['since']}; meanwhile the log end has "
        f"moved by {facts['moved_offsets']} to {end}, and "
        f"{show_count(end - bound, 'offset')} {'waits' if end - bound == 1 else 'wait'}"
    )
    return Finding(FindingKind.STUCK, text, name, ((bound, end),), facts)
