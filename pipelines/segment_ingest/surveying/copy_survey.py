"""Surveys the copies of partitions, and chooses between them. Effect: reads headers."""

from collections.abc import Sequence

from pipelines.segment_ingest.execute import RunContext
from pipelines.segment_ingest.planning.coverage import Coverage
from pipelines.segment_ingest.planning.plan import SurveyedPartition
from pipelines.segment_ingest.same_logs.replicas import PartitionChoice, SurveyedCopy, choose
from pipelines.segment_ingest.settings import Settings, UpperBound
from pipelines.segment_ingest.sources.partition_log import Replica
from pipelines.segment_ingest.surveying.bounds import bounds_of
from pipelines.segment_ingest.surveying.survey import survey_segments
from pipelines.segment_ingest.surveying.survey_plan import (
    earlier_run,
    is_due,
    survey_groups,
    walked_bytes,
    with_surveys,
)
from pipelines.segment_ingest.transactions.transaction_witness import witness_of

_MOST_INLINE_GROUPS = 4


def survey_copies(
    partitions: Sequence[Sequence[Replica]], coverage: Coverage, context: RunContext
) -> list[PartitionChoice]:
    """Survey all copies of each partition of which one may have news; the others are left out."""
    settings = context.settings
    due = [copies for copies in partitions if is_due(copies, coverage, settings)]
    surveyed = iter(_surveyed([copy for copies in due for copy in copies], coverage, context))
    is_bounded = settings.read.upper_bound is UpperBound.HIGH_WATERMARK
    return [choose([next(surveyed) for _ in copies], is_bounded=is_bounded) for copies in due]


def partition_of(
    choice: PartitionChoice, coverage: Coverage, settings: Settings
) -> SurveyedPartition:
    """The chosen copy, ready to be planned."""
    replica = choice.chosen
    earlier = earlier_run(replica, coverage, settings)
    witnesses = [witness_of(sibling) for sibling in choice.siblings]
    bounds = bounds_of(replica, choice.surveys, settings, earlier, witnesses)
    covered = tuple(coverage.ranges(replica.key))
    return SurveyedPartition(replica, choice.surveys, bounds, covered, choice.siblings)


def _surveyed(
    replicas: Sequence[Replica], coverage: Coverage, context: RunContext
) -> list[SurveyedCopy]:
    settings = context.settings
    groups = survey_groups(replicas, coverage, settings, context.storage)
    sizes = [sum(walked_bytes(request) for request in group) for group in groups]
    context.reporter.step("surveying headers")
    counting = context.reporter.counting("surveying", sizes)
    if sum(sizes) <= settings.read.split_bytes and len(groups) <= _MOST_INLINE_GROUPS:
        found = [survey_segments(group) for group in groups]  # sooner done than an engine starts
    else:
        context.engine.start()  # for decoding too: let it happen during the survey
        found = context.engine.run(survey_segments, groups, on_done=counting)
    return with_surveys(replicas, coverage, settings, found)
