"""Recovered and lost offsets of a lake's logs, by cause, as values and as texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from seglake.findings.losing_tails import (
    LosingTail,
    LosingTailKind,
    TailsByKind,
    shown_tails,
    tails_mapping,
)
from seglake.findings.loss_causes import Loss, NoLoss
from seglake.findings.shown_offsets import GapsByPartition, named, named_gaps
from seglake.kafka_log.gap_ranges import GapRanges, gaps_joined
from seglake.kafka_log.internal_topics import is_internal_topic
from seglake.printable import show_count

_VERDICTS = tuple(dict.fromkeys(cause.verdict for cause in Loss))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecovery:
    """Recovery of a partition: number of records, and number of offsets without record by cause.

    The sum of all numbers is the number of offsets of the partition's log.

    Attributes:
        name: name of the partition.
        records: number of recovered records.
        open_records: number of recovered records whose transactions have not ended.
        has_earlier: whether earlier runs ingested records, which `records` does not count.
        lost: lost ranges by cause; a range without offsets stands for an unknown number of offsets.
        no_loss: for each cause, number of offsets that correctly have no record.
        tails: for each kind, quarantined batches of replicas that lost an election.
    """

    name: str
    records: int
    open_records: int = 0
    has_earlier: bool = False
    lost: Mapping[Loss, GapRanges] = field(default_factory=dict)
    no_loss: Mapping[NoLoss, int] = field(default_factory=dict)
    tails: Mapping[LosingTailKind, LosingTail] = field(default_factory=dict)

    @property
    def why_nothing(self) -> str:
        """Return why the partition has no record, in words."""
        if self.lost:
            return min(self.lost, key=[*Loss].index).words
        if self.has_earlier:
            return "nothing new"
        if self.no_loss.keys() & {NoLoss.ERASED, NoLoss.EXPIRED, NoLoss.EXPIRED_LOSS}:
            return "expired or erased"
        return "compacted, deleted or markers only" if self.no_loss else "empty"


class Recovery(NamedTuple):
    """Recovery of all partitions of a lake, or of the sources of a run.

    Attributes:
        partitions: recovery of each partition.
        unread: places in the sources that were not read; how many records they have is unknown.
    """

    partitions: Sequence[PartitionRecovery]
    unread: Sequence[str] = ()

    @property
    def partitions_with_records(self) -> int:
        """Return the number of partitions with records."""
        return sum(each.records > 0 for each in self.partitions)

    @property
    def records(self) -> int:
        """Return the number of recovered records."""
        return sum(each.records for each in self.partitions)

    @property
    def open_records(self) -> int:
        """Return the number of records whose transactions have not ended."""
        return sum(each.open_records for each in self.partitions)

    @property
    def internal_records(self) -> int:
        """Return the number of records in Kafka's own topics."""
        return sum(
            each.records
            for each in self.partitions
            if is_internal_topic(each.name.rpartition("-")[0])
        )

    @property
    def lost(self) -> dict[Loss, GapsByPartition]:
        """Return the lost ranges by cause and partition, the worst cause first."""
        return {
            cause: gaps_joined({each.name: each.lost[cause]} for each in having)
            for cause in Loss
            if (having := [each for each in self.partitions if cause in each.lost])
        }

    @property
    def left_on_disk(self) -> dict[Loss, GapsByPartition]:
        """Return the lost ranges that are still on a disk."""
        return {cause: found for cause, found in self.lost.items() if cause.is_there}

    @property
    def lost_offsets(self) -> int:
        """Return the number of lost offsets, as far as it is known."""
        return sum(
            gaps.offsets
            for each in self.partitions
            for cause, gaps in each.lost.items()
            if cause is not Loss.DELETED_OR_LOST
        )

    @property
    def no_loss(self) -> dict[NoLoss, int]:
        """Return the number of offsets that correctly have no record, by cause."""
        counts = {
            cause: sum(each.no_loss.get(cause, 0) for each in self.partitions) for cause in NoLoss
        }
        return {cause: count for cause, count in counts.items() if count}

    @property
    def tails(self) -> TailsByKind:
        """Return the losing tails in quarantine, by kind and partition."""
        return {
            kind: {each.name: each.tails[kind] for each in having}
            for kind in LosingTailKind
            if (having := [each for each in self.partitions if kind in each.tails])
        }

    @property
    def nothing_from(self) -> dict[str, list[str]]:
        """Return the partitions without records, by reason, the worst reason first."""
        found: dict[str, list[str]] = {}
        for each in self.partitions:
            if not each.records:
                found.setdefault(each.why_nothing, []).append(each.name)
        order = [*(cause.words for cause in Loss), *found]
        return {why: sorted(found[why]) for why in sorted(found, key=order.index)}

    @property
    def is_whole(self) -> bool:
        """Return whether nothing is known to be lost, waiting or unread."""
        return not (self.lost or self.unread)

    @property
    def headline(self) -> str:
        """Return one line on the recovered records, and on the lost offsets with their causes."""
        having, of = self.partitions_with_records, len(self.partitions)
        places = f"{'' if having == of else f'{having} of '}{show_count(of, 'partition')}"
        recovered = f"{show_count(self.records, 'record')} recovered from {places}"
        if self.internal_records:
            recovered += f", {self.internal_records} of them in Kafka's own topics"
        if self.open_records:
            recovered += f", {self.open_records} of them in transactions that have not ended"
        causes_of: dict[str, list[str]] = {verdict: [] for verdict in _VERDICTS}
        for cause, found in self.lost.items():
            causes_of[cause.verdict].append(_of_cause(cause, found))
        parts = [
            *(f"{verdict}: {', '.join(causes)}" for verdict, causes in causes_of.items() if causes),
            *([f"{show_count(len(self.unread), 'place')} not read"] if self.unread else []),
        ]
        tails = shown_tails(self.tails)
        nothing = "nothing else is known to be lost" if tails else "no offset is known to be lost"
        return "; ".join([recovered, *parts, *tails, *([] if parts else [nothing])])

    def lines(self, *, is_left_shown: bool = False) -> list[str]:
        """Return lines on lost offsets, on offsets without loss, and on partitions without record.

        Args:
            is_left_shown: whether the caller has already shown the ranges that are still on a disk;
                if so, the lines omit them.
        """
        lost = {
            cause: found
            for cause, found in self.lost.items()
            if not (is_left_shown and cause.is_there)
        }
        lines = [*loss_lines(lost), *no_loss_lines(self.no_loss)]
        nothing = self.nothing_from
        if self.records and nothing:
            count = sum(map(len, nothing.values()))
            names = "; ".join(f"{why}: {named(names)}" for why, names in nothing.items())
            of = show_count(len(self.partitions), "partition")
            lines.append(f"no record from {count} of {of}: {names}")
        return lines

    # Any: the types that JSON can hold.
    def to_mapping(self) -> dict[str, Any]:
        """Return the recovery as a mapping for JSON."""
        return {
            "records": self.records,
            "internal_records": self.internal_records,
            "open_records": self.open_records,
            "partitions": len(self.partitions),
            "not_recovered_offsets": self.lost_offsets,
            "not_recovered": {
                str(cause): {name: gaps.offsets for name, gaps in sorted(found.items())}
                for cause, found in self.lost.items()
                if cause is not Loss.DELETED_OR_LOST
            },
            "perhaps_lost": {
                name: gaps.offsets
                for name, gaps in sorted(self.lost.get(Loss.DELETED_OR_LOST, {}).items())
            },
            "in_quarantine_only": tails_mapping(self.tails),
            "no_loss": {str(cause): count for cause, count in self.no_loss.items()},
            "no_record_from": self.nothing_from,
            "not_read": sorted(self.unread),
        }


def loss_lines(lost: Mapping[Loss, GapsByPartition]) -> list[str]:
    """Return one line on the lost offsets of each cause."""
    return [
        f"{cause.verdict}: {shown}" for cause, shown in zip(lost, shown_losses(lost), strict=True)
    ]


def shown_losses(lost: Mapping[Loss, GapsByPartition]) -> list[str]:
    """Return one text for each cause, with the number of lost offsets and their places."""
    return [f"{_of_cause(cause, found)} in {_where(found)}" for cause, found in lost.items()]


def no_loss_lines(counts: Mapping[NoLoss, int]) -> list[str]:
    """Return lines on offsets that correctly have no record; old losses have their own line."""
    shown = {cause: f"{show_count(n, 'offset')} {cause.words}" for cause, n in counts.items()}
    old = shown.pop(NoLoss.EXPIRED_LOSS, "")
    lines = [f"no loss: {'; '.join(shown.values())}"] if shown else []
    return [*lines, f"expired: {old}"] if old else lines


def _where(found: GapsByPartition) -> str:
    is_known = any(gaps.offsets for gaps in found.values())
    return named_gaps(found) if is_known else named(sorted(found))


def _of_cause(cause: Loss, found: GapsByPartition) -> str:
    """Return the number of offsets with a cause as text."""
    offsets = sum(gaps.offsets for gaps in found.values())
    count = show_count(offsets, "offset") if offsets else "an unknown number of offsets"
    return f"{count} {cause.words}"
