"""Which logs grow while what bounds them stands still, the worst first. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from seglake.kafka_log.observation import Observation, StoppedBy
from seglake.pipelines.progress import show_count, show_duration

_BOUNDS = {
    StoppedBy.HIGH_WATERMARK: "the high watermark",
    StoppedBy.OPEN_TRANSACTION: "the last stable offset",
    StoppedBy.NO_HIGH_WATERMARK: "the log start, as there is no high watermark,",
}


@dataclass(frozen=True, slots=True)
class StuckPartition:
    """A partition whose bound has stood still for longer than `limits.stuck_after`.

    Attributes:
        stopped_by: which bound it is.
        since: when runs saw it first with offsets above it, in UTC.
        moved_offsets: how far the log end has moved since the bound was reached.
    """

    partition: str
    stopped_by: StoppedBy
    bound_offset: int
    log_end_offset: int
    moved_offsets: int
    since: str
    standing_ms: int

    def __str__(self) -> str:
        left = self.log_end_offset - self.bound_offset
        return (
            f"{self.partition}: {_BOUNDS[self.stopped_by]} has stood at {self.bound_offset} for "
            f"{show_duration(self.standing_ms)}, since {self.since}; meanwhile the log end has "
            f"moved by {self.moved_offsets} to {self.log_end_offset}, and "
            f"{show_count(left, 'offset')} {'waits' if left == 1 else 'wait'}"
        )


def stuck_partitions(
    observations: Iterable[Observation], now: datetime, limit: timedelta | None
) -> list[StuckPartition]:
    """The partitions that are stuck: longest first, then the one with most offsets above."""
    if limit is None:
        return []
    found = [
        _stuck(observation, now) for observation in observations if observation.is_stuck(now, limit)
    ]
    return sorted(
        found,
        key=lambda stuck: (
            -stuck.standing_ms,
            stuck.bound_offset - stuck.log_end_offset,
            stuck.partition,
        ),
    )


def _stuck(observation: Observation, now: datetime) -> StuckPartition:
    since = observation.waiting_since or now
    return StuckPartition(
        partition=str(observation.key),
        stopped_by=observation.stopped_by,
        bound_offset=observation.next_offset or 0,
        log_end_offset=observation.log_end_offset or 0,
        moved_offsets=observation.moved_offsets,
        since=since.astimezone(UTC).isoformat(timespec="seconds"),
        standing_ms=(now - since) // timedelta(milliseconds=1),
    )
