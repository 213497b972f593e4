"""What of a log a run does not take, and why. Pure."""

from dataclasses import dataclass

from pipelines.segment_ingest.planning.plan import SurveyedPartition
from pipelines.segment_ingest.settings import Isolation, Settings
from pipelines.segment_ingest.transactions.hanging import Fate, StillOpen, age_ms
from segment_codec.errors import TailKind

_TAILS = {
    TailKind.TORN: "a batch that the end of the file cuts off",
    TailKind.ZERO: "zero bytes, as in a file that was made in advance",
    TailKind.GARBAGE: "bytes that are no batch",
    TailKind.UNFLUSHED: "a batch with a wrong checksum, above the high watermark",
}


@dataclass(frozen=True, slots=True)
class Leftover:
    """Why a partition was not taken to the end of its log."""

    partition: str
    reason: str
    from_offset: int
    log_end_offset: int


def _has_high_watermark(partition: SurveyedPartition) -> bool:
    """Without one the bounds have a note of their own."""
    return partition.bounds.high_watermark is not None


def still_open(partition: SurveyedPartition, settings: Settings) -> list[StillOpen]:
    """The open transactions of a log, the oldest first."""
    bounds = partition.bounds
    is_committed = settings.read.isolation is Isolation.READ_COMMITTED
    return [
        StillOpen(
            str(partition.replica.key),
            each.producer_id,
            each.first_offset,
            age_ms(each, bounds.newest_ms),
            Fate.PASSED if each in bounds.passed else (Fate.WAITS if is_committed else Fate.TAKEN),
        )
        for each in bounds.open_transactions
    ]


def leftovers(partition: SurveyedPartition, settings: Settings) -> list[Leftover]:
    """What of a log lies above what this run takes, and why."""
    bounds = partition.bounds
    name = str(partition.replica.key)
    found: list[Leftover] = []
    upper = bounds.next_offset
    waiting = [each for each in still_open(partition, settings) if each.fate is Fate.WAITS]

    def add(reason: str, offset: int) -> None:
        found.append(Leftover(name, reason, offset, bounds.log_end_offset))

    if waiting and upper < bounds.log_end_offset:
        others = f" ({len(waiting) - 1} more open)" if len(waiting) > 1 else ""
        left = bounds.log_end_offset - upper
        waits = "1 offset waits" if left == 1 else f"{left} offsets wait"
        add(f"{waiting[0]}; {waits} for its end{others}", upper)
    elif upper < bounds.log_end_offset and _has_high_watermark(partition):
        left = bounds.log_end_offset - upper
        lie = "1 offset lies" if left == 1 else f"{left} offsets lie"
        add(f"{lie} above the high watermark {upper}", upper)
    tail = partition.surveys[-1].tail if partition.surveys else None
    if tail is not None:
        add(f"the last segment ends in {tail} ({_TAILS[tail]})", bounds.log_end_offset)
    return found + _lost_tails(partition)


def _lost_tails(partition: SurveyedPartition) -> list[Leftover]:
    """What other copies have that lost an election, above all that is covered."""
    covered_offset = max([partition.bounds.next_offset, *(stop for _, stop in partition.covered)])
    found: list[Leftover] = []
    for sibling in partition.siblings:
        start, stop = max(sibling.parting_offset, covered_offset), sibling.log_end_offset
        if start < stop:
            reason = (
                f"offsets {start} to {stop - 1} in {sibling.replica.folder} lost an election; they "
                "are listed in quarantine when the log has come so far"
            )
            found.append(Leftover(str(partition.replica.key), reason, start, stop))
    return found
