"""Surveys the copies of partitions, and chooses between them. Effect: reads headers."""

from collections.abc import Sequence
from itertools import chain

from seglake.kafka_log.log_bounds import bounds_of
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import Replica
from seglake.kafka_log.replica_selection import PartitionChoice, SurveyedReplica, choose
from seglake.kafka_log.transactions.replica_evidence import evidence_of
from seglake.log_dirs.header_scan import survey_segments
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.log_tables.coverage import Coverage
from seglake.pipelines.segment_ingest.planning.pieces import fewest_tasks
from seglake.pipelines.segment_ingest.planning.survey_plan import (
    is_due,
    survey_requests,
    walked_bytes,
)
from seglake.pipelines.segment_ingest.planning.surveyed_partition import SurveyedPartition
from seglake.pipelines.segment_ingest.run_context import ScanContext
from seglake.pipelines.settings.settings import Settings
from seglake.task_engine.packing import spread

_TASK_BYTES = 256 << 20
_TASK_SEGMENTS = 256
_MOST_INLINE_SEGMENTS = 1024


def survey_partitions(
    logs: Sequence[Sequence[Replica]], coverage: Coverage, scan: ScanContext
) -> list[SurveyedPartition]:
    """Survey the partitions of which a replica may have news, and leave out the others."""
    due = [replicas for replicas in logs if is_due(replicas, coverage, scan.settings)]
    return survey_logs(due, coverage, scan)


def survey_logs(
    logs: Sequence[Sequence[Replica]], coverage: Coverage, scan: ScanContext
) -> list[SurveyedPartition]:
    """Survey all replicas of each partition, and choose between them."""
    settings = scan.settings
    surveyed = iter(_surveyed([replica for log in logs for replica in log], coverage, scan))
    is_bounded = settings.read.upper_bound is UpperBound.HIGH_WATERMARK
    choices = [choose([next(surveyed) for _ in log], is_bounded=is_bounded) for log in logs]
    return [_partition(choice, coverage, settings) for choice in choices]


def _partition(
    choice: PartitionChoice, coverage: Coverage, settings: Settings
) -> SurveyedPartition:
    evidence = [evidence_of(other) for other in choice.other_replicas]
    bounds = bounds_of(choice.chosen, choice.surveys, settings.read_policy, evidence)
    return SurveyedPartition(choice, bounds, tuple(coverage.ranges(choice.chosen.key)))


def _surveyed(
    replicas: Sequence[Replica], coverage: Coverage, scan: ScanContext
) -> list[SurveyedReplica]:
    settings = scan.settings
    asked = [survey_requests(replica, coverage, settings, scan.storage) for replica in replicas]
    requests = list(chain(*asked))
    fewest = fewest_tasks(sum(map(walked_bytes, requests)), settings.read.split_bytes)
    groups = spread(requests, _cost_bytes, _TASK_BYTES, fewest=fewest)
    sizes = [sum(map(walked_bytes, group)) for group in groups]
    found = scan.reporter.run_tasks(
        scan.engine,
        survey_segments,
        [tuple(group) for group in groups],
        sizes=sizes,
        text="surveying headers",
        is_small=fewest == 1 and len(requests) <= _MOST_INLINE_SEGMENTS,
    )
    answers = chain(*found)
    return [
        SurveyedReplica(replica, tuple(next(answers) for _ in of_replica))
        for replica, of_replica in zip(replicas, asked, strict=True)
    ]


def _cost_bytes(request: SurveyRequest) -> int:
    """Return the cost of a survey in bytes, so that many small segments make several tasks."""
    return max(walked_bytes(request), _TASK_BYTES // _TASK_SEGMENTS)
