"""Surveys the replicas of partitions, and chooses between them. Reads headers."""

from collections.abc import Iterable, Sequence
from itertools import chain

from seglake.ingest_steps.planning.partitions import (
    ListedPartition,
    SurveyedPartition,
)
from seglake.ingest_steps.planning.pieces import fewest_tasks
from seglake.ingest_steps.planning.survey_plan import (
    is_due,
    survey_requests,
    walked_bytes,
)
from seglake.ingest_steps.run_context import ScanContext
from seglake.kafka_log.log_bounds import bounds_of
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica_selection import SurveyedReplica, choose
from seglake.kafka_log.tiered_replicas import with_manifests, without_unreadable
from seglake.kafka_log.transactions.replica_evidence import evidence_of
from seglake.log_dirs.header_scan import survey_segments
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.settings.settings import Settings
from seglake.task_engine.packing import spread

_TASK_BYTES = 256 << 20
_TASK_SEGMENTS = 256
_MOST_INLINE_SEGMENTS = 1024


def survey_partitions(
    partitions: Iterable[ListedPartition], scan: ScanContext
) -> list[SurveyedPartition]:
    """Survey the partitions that may have new data or whose listing has changed."""
    due = [(listed, is_due(listed, scan.settings)) for listed in partitions]
    asked = [(listed, has_news) for listed, has_news in due if has_news or listed.has_moved]
    surveyed = survey_logs([listed for listed, _ in asked], scan)
    return [
        found._replace(is_due=has_news)
        for found, (_, has_news) in zip(surveyed, asked, strict=True)
    ]


def survey_logs(
    partitions: Sequence[ListedPartition], scan: ScanContext
) -> list[SurveyedPartition]:
    """Survey all replicas of each partition, and choose one to read."""
    surveyed = iter(_surveyed(partitions, scan))
    return [
        _partition(listed, [next(surveyed) for _ in listed.replicas], scan.settings)
        for listed in partitions
    ]


def _partition(
    listed: ListedPartition, copies: Sequence[SurveyedReplica], settings: Settings
) -> SurveyedPartition:
    is_bounded = settings.read.upper_bound is UpperBound.HIGH_WATERMARK
    choice = choose(copies, is_bounded=is_bounded)
    evidence = [evidence_of(other) for other in choice.other_replicas]
    bounds = bounds_of(choice.chosen, choice.surveys, settings.read_policy, evidence)
    return SurveyedPartition(listed, choice, bounds, tuple(listed.ledger.covered))


def _surveyed(partitions: Sequence[ListedPartition], scan: ScanContext) -> list[SurveyedReplica]:
    settings = scan.settings
    copies = [(copy, listed.ledger) for listed in partitions for copy in listed.replicas]
    asked = [survey_requests(*copy, settings, scan.storage) for copy in copies]
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
    surveyed = [
        SurveyedReplica(replica, tuple(next(answers) for _ in of_replica))
        for (replica, _), of_replica in zip(copies, asked, strict=True)
    ]
    return [without_unreadable(with_manifests(copy)) for copy in surveyed]


def _cost_bytes(request: SurveyRequest) -> int:
    """Return a survey's cost in bytes; small segments count more, to spread them over tasks."""
    return max(walked_bytes(request), _TASK_BYTES // _TASK_SEGMENTS)
