"""A partition at three stages: as listed, as surveyed, and as compared with the lake."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

from seglake.grouping import grouped
from seglake.ingest_steps.planning.duplicate_logs import (
    DuplicateLog,
    separated,
)
from seglake.kafka_log.log_bounds import LogBounds
from seglake.kafka_log.log_identity import ShorterLog
from seglake.kafka_log.observation import Observation
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.kafka_log.replica import PartitionKey, Replica, SegmentFile
from seglake.kafka_log.replica_selection import (
    OtherReplica,
    PartitionChoice,
    likely,
    replicas_by_partition,
    sound_end,
)
from seglake.kafka_log.segment_survey import EndDamage, SegmentSurvey
from seglake.kafka_log.unread_segments import unread_offsets
from seglake.log_tables.batch_lookup import IngestedBatches
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.log_tables.source_ledger import SourceLedger
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX
from seglake.storage.storage import Storage


class ListedPartition(NamedTuple):
    """A partition as the sources list it, with its ledger.

    Attributes:
        replicas: at least one replica.
        ledger: the partition's ledger.
        earlier: the observation by the newest earlier run; None if there is no earlier run.
        has_moved: whether the listing shows another log end than that observation.
        duplicates: second logs of the partition on one broker, which are not in `replicas`.
    """

    replicas: tuple[Replica, ...]
    ledger: PartitionLedger
    earlier: Observation | None = None
    has_moved: bool = False
    duplicates: tuple[DuplicateLog, ...] = ()

    @classmethod
    def alone(cls, copy: Replica, key: PartitionKey) -> Self:
        """Return a partition with one copy and an empty ledger, as for a new lake."""
        return cls((copy._replace(key=key),), PartitionLedger(key))

    def lacking(self, ingestible: Iterable[OffsetRange]) -> Self:
        """Return the partition with a ledger that covers everything except the given ranges."""
        others = subtracted((0, OFFSET_MAX), merged(ingestible))
        return self._replace(ledger=PartitionLedger.covering(self.key, others))

    @property
    def key(self) -> PartitionKey:
        """Return the partition of the replicas."""
        return self.replicas[0].key


def listed_partitions(
    replicas: Iterable[Replica],
    ledger: SourceLedger,
    storage: Storage,
    lake: IngestedBatches | None = None,
) -> list[ListedPartition]:
    """Return the partitions of these replicas, by topic and number.

    Args:
        replicas: all listed replicas.
        ledger: the ledger of the replicas' cluster.
        storage: the storage of the replicas.
        lake: the lake's batches, to decide which of two logs on one broker was ingested; None
            without a lake.
    """
    apart = separated(map(ledger.named, replicas), lake, storage)
    by_key = grouped((duplicate.kept.key, duplicate) for duplicate in apart.duplicates)
    return [
        ListedPartition(log, ledger.of(key), duplicates=tuple(by_key.get(key, ())))
        for log in replicas_by_partition(apart.replicas)
        for key in [log[0].key]
    ]


class LosingCopy(NamedTuple):
    """A copy whose batches lost an election from the divergence offset on."""

    replica: Replica
    divergence_offset: int
    log_end_offset: int


class SurveyedPartition(NamedTuple):
    """A partition with its chosen replica and the bounds of its log.

    Attributes:
        listed: the partition as listed.
        choice: the chosen replica, and the others.
        bounds: bounds of the chosen replica's log.
        covered: ranges that are not ingested, because the lake has them.
        is_due: whether the partition may have new data; False if only its listing has changed.
    """

    listed: ListedPartition
    choice: PartitionChoice
    bounds: LogBounds
    covered: tuple[OffsetRange, ...]
    is_due: bool = True

    @property
    def key(self) -> PartitionKey:
        """Return the surveyed partition's key."""
        return self.choice.chosen.key

    @property
    def ledger(self) -> PartitionLedger:
        """Return the ledger of the surveyed partition."""
        return self.listed.ledger

    @property
    def replica(self) -> Replica:
        """Return the replica that was chosen for reading."""
        return self.choice.chosen

    @property
    def surveys(self) -> tuple[SegmentSurvey, ...]:
        """Return the surveys of the chosen replica's last segments, in offset order."""
        return self.choice.surveys

    @property
    def unread_reason(self) -> str | None:
        """Return why the first unreadable segment cannot be read; None if all can be read."""
        reasons = [survey.missing for survey in self.surveys if survey.missing is not None]
        # only a remote tier has the partition, and none of its objects is readable
        if not self.replica.segments:
            reasons += [gap.reason for gap in self.replica.remote_gaps]
        return next(iter(reasons), None)

    @property
    def surveyed_segments(self) -> tuple[SegmentFile, ...]:
        """Return the chosen replica's surveyed segments, in order."""
        return self.replica.segments[len(self.replica.segments) - len(self.surveys) :]

    @property
    def end_damage(self) -> EndDamage | None:
        """Return the damage after the last valid batch of the log; None if there is none."""
        return self.surveys[-1].end_damage if self.surveys else None

    @property
    def sound_end(self) -> int:
        """Return the exclusive end of the log's last valid batch."""
        return sound_end(self.surveys)

    @property
    def agreed_end(self) -> int:
        """Return the exclusive end of the offsets with the same leader epochs in log and lake."""
        return self.ledger.same_log_until(self.choice.leader_epochs.without_end, self.sound_end)

    def losing_copies(self, *, has_lost: bool) -> list[LosingCopy]:
        """Return the losing copies, each with the offset up to which it shares the winning log.

        Args:
            has_lost: whether the chosen copy lost an election to the log in the lake; if so, it is
                returned too.
        """
        own = [LosingCopy(self.replica, self.agreed_end, self.sound_end)] if has_lost else []
        return own + [
            LosingCopy(other.replica, other.divergence_offset, other.log_end_offset)
            for other in self.other_replicas
        ]

    @property
    def other_replicas(self) -> tuple[OtherReplica, ...]:
        """Return the replicas that were not chosen."""
        return self.choice.other_replicas

    @property
    def waiting_ranges(self) -> tuple[OffsetRange, ...]:
        """Return the ranges left to a later run: unreadable segments and their transactions.

        The outcome of a transaction that may end in an unreadable segment is unknown. The ranges
        are merged.
        """
        unread = unread_offsets(self.replica, self.other_replicas)
        doubts = ((found.start_offset, found.next_offset) for found in self.bounds.unknown_outcomes)
        unsettled = [doubt for doubt in doubts if subtracted(doubt, unread) != [doubt]]
        return tuple(merged([*unread, *unsettled]))


@dataclass(frozen=True, kw_only=True)
class JudgedPartition:
    """A partition after the comparison of its log with the ingested one.

    Attributes:
        listed: the partition as listed.
        surveyed: the surveyed partition; None if the listing shows no change.
        refusal: why the log is refused, because it is not the log in the lake; empty if it is
            accepted.
        is_undecided: whether the log is refused because it differs from the lake and no leader
            epochs show which of the two lost an election.
        is_second_log: whether the log is refused because the lake has another log of the same
            broker.
        has_lost: whether the log lost an election to the ingested log; if so, its offsets above the
            ingested ones are not ingested either.
        is_stale: whether the copy is older than the lake, so that the copy lacks the log's end.
        shorter: facts on a log that ends below the ingested offsets; None for other logs.
        notes: messages for the user that need no action.
    """

    listed: ListedPartition
    surveyed: SurveyedPartition | None = None
    refusal: str = ""
    is_undecided: bool = False
    is_second_log: bool = False
    has_lost: bool = False
    is_stale: bool = False
    shorter: ShorterLog | None = None
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> PartitionKey:
        """Return the judged partition's key."""
        return self.listed.key

    @property
    def news(self) -> SurveyedPartition | None:
        """Return the survey of a log that may have new data, even if it is not the lake's log."""
        return self.surveyed if self.surveyed is not None and self.surveyed.is_due else None

    @property
    def same(self) -> SurveyedPartition | None:
        """Return the survey of a log that may have new data, if it is the lake's log; else None."""
        return None if self.refusal else self.news

    @property
    def ingestible(self) -> SurveyedPartition | None:
        """Return the survey of a log to ingest.

        The result is None if the log is not the lake's log, or lost an election.
        """
        return None if self.has_lost else self.same

    @property
    def seen(self) -> SurveyedPartition | None:
        """Return the survey to record as an observation.

        The result is None if the log has new data and is not the lake's log.
        """
        return None if self.refusal and self.news else self.surveyed

    @property
    def readable(self) -> SurveyedPartition | None:
        """Return the survey of a log that was read completely, even if no offset is requested."""
        is_away = self.refusal or self.has_lost
        is_unread = self.surveyed is None or self.surveyed.unread_reason is not None
        return None if is_away or is_unread else self.surveyed

    @property
    def replica(self) -> Replica:
        """Return the copy that is compared with the lake."""
        news = self.news
        return likely(self.listed.replicas) if news is None else news.replica
