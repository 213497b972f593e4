"""Surveys the logs before a round plans. Effect: reads headers, and the lake."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seglake.kafka_log.observation import Observation, moved_logs
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.replica_selection import likely, replicas_by_partition
from seglake.log_tables.batch_lookup import IngestedBatches
from seglake.log_tables.coverage import Coverage
from seglake.log_tables.observation_rows import NewestObservations, newest_observations
from seglake.pipelines.segment_ingest.planning.replica_survey import survey_logs, survey_partitions
from seglake.pipelines.segment_ingest.planning.surveyed_partition import SurveyedPartition
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

    logs: Sequence[tuple[Replica, ...]]
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
            (of, None if of.key in self.moved else self.earlier.by_key.get(of.key))
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

    def unread_data(self, coverage: Coverage) -> UnreadData:
        """Return the logs' unreadable data."""
        refused = {*self.check.refused, *self.check.lost_to_newer_epoch}
        surveyed = [*self.due, *self.quiet]
        return unread_data(self.logs, surveyed, refused, coverage, self.earlier.by_key)


def looked(replicas: Iterable[Replica], coverage: Coverage, context: RunContext) -> RoundLook:
    """Survey what may have news, and what has none and has moved, and check whose logs they are."""
    lake = IngestedBatches(context.tables, context.source_id, coverage)
    apart = separated(replicas, lake, context.storage)
    logs = replicas_by_partition(apart.replicas)
    due = survey_partitions(logs, coverage, context.scan)
    chosen = {partition.key: partition.replica for partition in due}
    keys = [log[0].key for log in logs]
    earlier = newest_observations(context.tables, context.source_id, keys, coverage)
    moved = moved_logs(logs, earlier.by_key, context.settings.read.upper_bound)
    changed = frozenset(log[0].key for log in moved)
    quiet = survey_logs([log for log in moved if log[0].key not in chosen], coverage, context.scan)
    shown = [chosen.get(log[0].key) or likely(log) for log in logs]
    check = check_logs(shown, due, coverage, context, changed)
    return RoundLook(logs, due, quiet, earlier, check, apart.duplicates, changed)
