"""Forms of a partition in a round, from its listing to its plan. Values."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

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


@dataclass(frozen=True, slots=True)
class ListedPartition:
    """A partition as the sources list it, with its ledger.

    Attributes:
        replicas: at least one replica.
        ledger: the partition's ledger.
        earlier: observation of the newest earlier run; None without one.
        has_moved: the listing of the log's end differs from that observation.
        duplicates: second logs of the partition on a broker; they are not in `replicas`.
    """

    replicas: tuple[Replica, ...]
    ledger: PartitionLedger
    earlier: Observation | None = None
    has_moved: bool = False
    duplicates: tuple[DuplicateLog, ...] = ()

    @classmethod
    def alone(cls, copy: Replica, key: PartitionKey) -> Self:
        """Return a copy by itself, with an empty ledger, as if nothing of it was ingested."""
        return cls((replace(copy, key=key),), PartitionLedger(key))

    def lacking(self, ingestible: Iterable[OffsetRange]) -> Self:
        """Return the partition with a ledger that covers everything but the wanted ranges."""
        others = subtracted((0, OFFSET_MAX), merged(ingestible))
        return replace(self, ledger=PartitionLedger.covering(self.key, others))

    @property
    def key(self) -> PartitionKey:
        """Return the partition."""
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
        ledger: the ledger of their cluster.
        storage: the storage of the replicas.
        lake: the lake's batches, which decide between two logs of one broker; None without a lake.
    """
    apart = separated(map(ledger.named, replicas), lake, storage)
    by_key = grouped((duplicate.kept.key, duplicate) for duplicate in apart.duplicates)
    return [
        ListedPartition(log, ledger.of(key), duplicates=tuple(by_key.get(key, ())))
        for log in replicas_by_partition(apart.replicas)
        for key in [log[0].key]
    ]


@dataclass(frozen=True, slots=True)
class SurveyedPartition:
    """A partition with its chosen replica and the bounds of its log.

    Attributes:
        listed: the partition as listed.
        choice: the chosen replica, and the others.
        bounds: bounds of the chosen replica's log.
        covered: ranges that are not ingested, since the lake has them.
        is_due: it may have news; False if only its listing has changed.
    """

    listed: ListedPartition
    choice: PartitionChoice
    bounds: LogBounds
    covered: tuple[OffsetRange, ...]
    is_due: bool = True

    @property
    def key(self) -> PartitionKey:
        """Return the partition."""
        return self.choice.chosen.key

    @property
    def ledger(self) -> PartitionLedger:
        """Return the partition's ledger."""
        return self.listed.ledger

    @property
    def replica(self) -> Replica:
        """Return the chosen replica."""
        return self.choice.chosen

    @property
    def surveys(self) -> tuple[SegmentSurvey, ...]:
        """Return the surveys of the chosen replica's last segments, in order."""
        return self.choice.surveys

    @property
    def unread_reason(self) -> str | None:
        """Return the reason of the first unreadable segment; None if all can be read."""
        reasons = (survey.missing for survey in self.surveys)
        return next((reason for reason in reasons if reason is not None), None)

    @property
    def surveyed_segments(self) -> tuple[SegmentFile, ...]:
        """Return the chosen replica's surveyed segments, in order."""
        return self.replica.segments[len(self.replica.segments) - len(self.surveys) :]

    @property
    def end_damage(self) -> EndDamage | None:
        """Return the damage after the last sound batch of the log; None if there is none."""
        return self.surveys[-1].end_damage if self.surveys else None

    @property
    def sound_end(self) -> int:
        """Return the offset after the log's last sound batch."""
        return sound_end(self.surveys)

    @property
    def other_replicas(self) -> tuple[OtherReplica, ...]:
        """Return the replicas that were not chosen."""
        return self.choice.other_replicas

    @property
    def waiting_ranges(self) -> tuple[OffsetRange, ...]:
        """Return merged offsets of unreadable segments, and of transactions that may end in them.

        Guesses about the outcomes of these transactions are not needed: they wait.
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
        surveyed: the survey; None if nothing is new and the end of the log is listed as before.
        refusal: why the log is not the lake's, so that nothing is ingested from it; else empty.
        is_undecided: refused since it differs from the lake and there are no leader epochs.
        is_second_log: refused since the lake has another log of the same broker.
        has_lost: the log lost an election to the ingested one, with all offsets beyond it.
        is_stale: the copy knows less of the log than the lake, so its end is no news.
        shorter: the log ends below the ingested offsets, but is the same log as far as known.
        notes: facts that a person should know.
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
        """Return the partition."""
        return self.listed.key

    @property
    def news(self) -> SurveyedPartition | None:
        """Return the survey of a log that may have news."""
        return self.surveyed if self.surveyed is not None and self.surveyed.is_due else None

    @property
    def same(self) -> SurveyedPartition | None:
        """Return the survey of a log that may have news and is the lake's log."""
        return None if self.refusal else self.news

    @property
    def ingestible(self) -> SurveyedPartition | None:
        """Return the survey of a log to ingest: it is the lake's log, and has lost no election."""
        return None if self.has_lost else self.same

    @property
    def seen(self) -> SurveyedPartition | None:
        """Return the survey to observe: that of the lake's log, or of a log without news."""
        return None if self.refusal and self.news else self.surveyed

    @property
    def readable(self) -> SurveyedPartition | None:
        """Return the survey of a log that was read completely, even if no offset is wanted."""
        is_away = self.refusal or self.has_lost
        is_unread = self.surveyed is None or self.surveyed.unread_reason is not None
        return None if is_away or is_unread else self.surveyed

    @property
    def replica(self) -> Replica:
        """Return the copy that is compared with the lake."""
        news = self.news
        return likely(self.listed.replicas) if news is None else news.replica
