"""Made-up results of an audit for partitions."""

from seglake.findings.findings import Finding
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.replica import PartitionKey
from seglake.pipelines.lake_audit.ledger import LakePartition
from seglake.pipelines.lake_audit.partition_audit import (
    LeftAbove,
    LogMarks,
    PartitionAudit,
    QuarantineSums,
    RangeSums,
    ShownGap,
)


def partition_audit(
    number: int,
    *,
    topic: str = "orders",
    topic_id: str | None = None,
    covered: tuple[tuple[int, int], ...] = ((0, 10),),
    gaps: dict[str, GapRanges] | None = None,
    shown: tuple[ShownGap, ...] = (),
    left: LeftAbove | None = None,
    problems: tuple[Finding, ...] = (),
) -> PartitionAudit:
    """A partition of which nothing is left unexplained but what is given."""
    return PartitionAudit(
        LakePartition("c", PartitionKey(topic, number, topic_id)),
        covered,
        RangeSums(records=10),
        gaps or {},
        shown,
        QuarantineSums(0, 0, {}, 0, {}),
        LogMarks(0, 10, 10, 10, "read_committed", "high_watermark", 1, "run"),
        left,
        problems,
    )
