"""A partition of a round, from its listing to its plan. Values."""

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
    """A partition as the sources list it, and what the lake has of it.

    Attributes:
        replicas: at least one.
        earlier: the newest earlier run's observation.
        has_moved: the end of the log is not listed as in that observation.
        duplicates: second logs of the partition on a broker, which are not among the replicas.
    """

    replicas: tuple[Replica, ...]
    ledger: PartitionLedger
    earlier: Observation | None = None
    has_moved: bool = False
    duplicates: tuple[DuplicateLog, ...] = ()

    @classmethod
    def alone(cls, copy: Replica, key: PartitionKey) -> Self:
        """Return a copy alone, as if nothing of it was ingested."""
        return cls((replace(copy, key=key),), PartitionLedger(key))

    def lacking(self, wanted: Iterable[OffsetRange]) -> Self:
        """Return the partition as if the lake had all offsets but these."""
        others = subtracted((0, OFFSET_MAX), merged(wanted))
        return replace(self, ledger=PartitionLedger.covering(self.key, others))

    @property
    def key(self) -> PartitionKey:
        return self.replicas[0].key


def listed_partitions(
    replicas: Iterable[Replica],
    ledger: SourceLedger,
    storage: Storage,
    lake: IngestedBatches | None = None,
) -> list[ListedPartition]:
    """Return the partitions of these replicas, by topic and number.

    Args:
        lake: tells which of a broker's two logs of a partition it has.
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
    """A partition ready to be planned: the replica that is read, and the bounds of its log.

    Attributes:
        covered: ranges that are not ingested, as the lake has them.
        is_due: it may have news; else only its listing has changed.
    """

    listed: ListedPartition
    choice: PartitionChoice
    bounds: LogBounds
    covered: tuple[OffsetRange, ...]
    is_due: bool = True

    @property
    def key(self) -> PartitionKey:
        return self.choice.chosen.key

    @property
    def ledger(self) -> PartitionLedger:
        return self.listed.ledger

    @property
    def replica(self) -> Replica:
        return self.choice.chosen

    @property
    def surveys(self) -> tuple[SegmentSurvey, ...]:
        """Return the surveys of the replica's last segments, in order."""
        return self.choice.surveys

    @property
    def unread_reason(self) -> str | None:
        """Return why the replica cannot be read; of several segments, the first one's reason."""
        reasons = (survey.missing for survey in self.surveys)
        return next((reason for reason in reasons if reason is not None), None)

    @property
    def surveyed_segments(self) -> tuple[SegmentFile, ...]:
        return self.replica.segments[len(self.replica.segments) - len(self.surveys) :]

    @property
    def end_damage(self) -> EndDamage | None:
        """Return the damage after the last sound batch of the log; None if there is none."""
        return self.surveys[-1].end_damage if self.surveys else None

    @property
    def sound_end(self) -> int:
        """Return the offset after the last sound batch."""
        return sound_end(self.surveys)

    @property
    def other_replicas(self) -> tuple[OtherReplica, ...]:
        return self.choice.other_replicas

    @property
    def waiting_ranges(self) -> tuple[OffsetRange, ...]:
        """Return the offsets of unreadable segments, and of transactions that may have ended there.
        Merged; nobody has to guess these outcomes."""
        unread = unread_offsets(self.replica, self.other_replicas)
        doubts = ((found.start_offset, found.next_offset) for found in self.bounds.unknown_outcomes)
        unsettled = [doubt for doubt in doubts if subtracted(doubt, unread) != [doubt]]
        return tuple(merged([*unread, *unsettled]))


@dataclass(frozen=True, kw_only=True)
class JudgedPartition:
    """A partition compared with the lake: whether its log is the ingested one, and which won.

    Attributes:
        surveyed: None if nothing is new and the end of the log is listed as before.
        refusal: why nothing is ingested from it, since its log is not the lake's; else empty.
        is_undecided: refused, as it differs from the lake and there are no leader epochs.
        is_second_log: refused, as the lake has another log of the same broker.
        has_lost: the log lost an election to the ingested one, and with it all that it has beyond.
        is_stale: a copy that knows less of the log than the lake: its end is no news.
        shorter: it ends below the ingested offsets, and is the same log as far as known.
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
        return self.listed.key

    @property
    def news(self) -> SurveyedPartition | None:
        """Return the survey of a log that may have news."""
        return self.surveyed if self.surveyed is not None and self.surveyed.is_due else None

    @property
    def same(self) -> SurveyedPartition | None:
        """Return the survey of a log that may have news and is the lake's."""
        return None if self.refusal else self.news

    @property
    def wanted(self) -> SurveyedPartition | None:
        """Return the survey of a log to ingest: the lake's, and no newer leader replaced it."""
        return None if self.has_lost else self.same

    @property
    def seen(self) -> SurveyedPartition | None:
        """Return the survey of the lake's log, or of one without news."""
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
