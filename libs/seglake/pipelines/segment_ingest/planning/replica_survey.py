"""Surveys the copies of partitions, and chooses between them. Effect: reads headers."""

from collections.abc import Sequence

from seglake.kafka_log.log_bounds import bounds_of
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import Replica
from seglake.kafka_log.replica_selection import PartitionChoice, SurveyedReplica, choose
from seglake.kafka_log.transactions.replica_evidence import evidence_of
from seglake.log_dirs.header_scan import survey_segments
from seglake.log_tables.coverage import Coverage
from seglake.pipelines.segment_ingest.planning.plan import SurveyedPartition
from seglake.pipelines.segment_ingest.planning.survey_plan import (
    earlier_run,
    is_due,
    survey_groups,
    walked_bytes,
    with_surveys,
)
from seglake.pipelines.segment_ingest.run_context import ScanContext
from seglake.pipelines.settings.settings import Settings
from seglake.task_engine.packing import run_small_inline

_MOST_INLINE_GROUPS = 4


def survey_copies(
    partitions: Sequence[Sequence[Replica]], coverage: Coverage, scan: ScanContext
) -> list[PartitionChoice]:
    """Survey all copies of each partition of which one may have news; the others are left out."""
    settings = scan.settings
    due = [copies for copies in partitions if is_due(copies, coverage, settings)]
    surveyed = iter(_surveyed([copy for copies in due for copy in copies], coverage, scan))
    is_bounded = settings.read.upper_bound is UpperBound.HIGH_WATERMARK
    return [choose([next(surveyed) for _ in copies], is_bounded=is_bounded) for copies in due]


def partition_of(
    choice: PartitionChoice, coverage: Coverage, settings: Settings
) -> SurveyedPartition:
    """The chosen copy, ready to be planned."""
    replica = choice.chosen
    earlier = earlier_run(replica, coverage, settings)
    evidence = [evidence_of(other) for other in choice.other_replicas]
    bounds = bounds_of(replica, choice.surveys, settings.read_policy, earlier, evidence)
    covered = tuple(coverage.ranges(replica.key))
    return SurveyedPartition(
        replica=replica,
        surveys=choice.surveys,
        bounds=bounds,
        covered=covered,
        other_replicas=choice.other_replicas,
    )


def _surveyed(
    replicas: Sequence[Replica], coverage: Coverage, scan: ScanContext
) -> list[SurveyedReplica]:
    settings = scan.settings
    groups = survey_groups(replicas, coverage, settings, scan.storage)
    sizes = [sum(walked_bytes(request) for request in group) for group in groups]
    scan.reporter.step("surveying headers")
    counting = scan.reporter.counting("surveying", sizes)
    is_small = sum(sizes) <= settings.read.split_bytes and len(groups) <= _MOST_INLINE_GROUPS
    found = run_small_inline(
        scan.engine, survey_segments, groups, is_small=is_small, on_done=counting
    )
    return with_surveys(replicas, coverage, settings, found)
