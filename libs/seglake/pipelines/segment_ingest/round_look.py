"""Surveys the logs before a round plans. Effect: reads headers, and the lake."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from seglake.kafka_log.observation import Observation, is_listed_as
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.replica_selection import likely
from seglake.log_tables.batch_lookup import IngestedBatches
from seglake.log_tables.observation_rows import NewestObservations, newest_observations
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.segment_ingest.planning.replica_survey import survey_logs, survey_partitions
from seglake.pipelines.segment_ingest.planning.surveyed_partition import (
    ListedPartition,
    SurveyedPartition,
    listed_partitions,
)
from seglake.pipelines.segment_ingest.planning.unread_data import UnreadData, unread_data
from seglake.pipelines.segment_ingest.replica_conflicts.duplicate_logs import (
    DuplicateLog,
    separated,
)
from seglake.pipelines.segment_ingest.replica_conflicts.log_check import LogCheck, check_logs
from seglake.pipelines.segment_ingest.run_context import RunContext


class RoundLook(NamedTuple):
    """State of the logs that a round bases its plan on.

    Attributes:
        due: logs that may have news.
        quiet: logs that have none, though their listing changed since runs saw them last.
        earlier: observations of earlier runs.
        check: logs that are not the lake's.
        duplicates: second folders of a partition on one broker.
        moved: logs whose end is not listed as runs saw it last.
    """

    listed: Sequence[ListedPartition]
    due: list[SurveyedPartition]
    quiet: list[SurveyedPartition]
    earlier: NewestObservations
    check: LogCheck
    duplicates: Sequence[DuplicateLog] = ()
    moved: frozenset[PartitionKey] = frozenset()

    @property
    def surveyed(self) -> list[tuple[SurveyedPartition, Observation | None]]:
        """Return the lake's own logs and those without news, each with its earlier observation if
        its end is listed unchanged."""
        return [
            (of, None if of.key in self.moved else of.listed.earlier)
            for of in (*self.same, *self.quiet)
        ]

    @property
    def refused(self) -> dict[str, str]:
        """Return the names of logs that are not the lake's, with the differences."""
        return {str(key): reason for key, reason in self.check.refused.items()}

    @property
    def same(self) -> list[SurveyedPartition]:
        """Return the logs with news that are the lake's."""
        return [partition for partition in self.due if partition.key not in self.check.refused]

    @property
    def wanted(self) -> list[SurveyedPartition]:
        """Return the logs to ingest: with news, the lake's, and no newer leader replaced them."""
        lost = self.check.lost_to_newer_epoch
        return [partition for partition in self.same if partition.key not in lost]

    @property
    def readable(self) -> list[SurveyedPartition]:
        """Return the logs that were read completely, also if none of their offsets is wanted."""
        away = {*self.check.refused, *self.check.lost_to_newer_epoch}
        return [
            partition
            for partition in (*self.due, *self.quiet)
            if partition.key not in away
            and all(survey.missing is None for survey in partition.surveys)
        ]

    @property
    def unread_data(self) -> UnreadData:
        """Return the logs' unreadable data."""
        refused = {*self.check.refused, *self.check.lost_to_newer_epoch}
        return unread_data(self.listed, [*self.due, *self.quiet], refused)


def looked(replicas: Iterable[Replica], ledger: SourceLedger, context: RunContext) -> RoundLook:
    """Survey what may have news, and what has none and has moved, and check whose logs they are."""
    lake = IngestedBatches(context.tables, context.source_id, ledger)
    apart = separated(replicas, lake, context.storage)
    logs = listed_partitions(apart.replicas, ledger)
    earlier = newest_observations(
        context.tables, context.source_id, [log.key for log in logs], ledger
    )
    listed = [replace(log, earlier=earlier.by_key.get(log.key)) for log in logs]
    due = survey_partitions(listed, context.scan)
    chosen = {partition.key: partition.replica for partition in due}
    moved = [log for log in listed if has_moved(log, context.settings.read.upper_bound)]
    quiet = survey_logs([log for log in moved if log.key not in chosen], context.scan)
    shown = [chosen.get(log.key) or likely(log.replicas) for log in listed]
    changed = frozenset(log.key for log in moved)
    check = check_logs(shown, due, ledger, context, changed)
    return RoundLook(listed, due, quiet, earlier, check, apart.duplicates, changed)


def has_moved(log: ListedPartition, upper_bound: UpperBound) -> bool:
    """Return whether a log's end is not listed as when it was seen last; see `listing_of`."""
    has_segment = any(copy.segments for copy in log.replicas)
    return has_segment and not is_listed_as(log.earlier, log.replicas, upper_bound)
