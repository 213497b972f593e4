"""Findings on limits in the settings that a run exceeded."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.shown_offsets import GapsByPartition, named_counts, named_gaps
from seglake.ingest_steps.report.gap_report import GapsByPlace, offset_count
from seglake.kafka_log.gap_ranges import GapRanges, gaps_joined
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.short_logs import ShortLog
from seglake.printable import show_count
from seglake.settings.settings import LimitsSettings


def limits_crossed(
    limits: LimitsSettings,
    damaged: Mapping[str, int],
    gaps: GapsByPlace,
    short: Sequence[ShortLog],
) -> Iterator[Finding]:
    """Yield a finding on each exceeded limit, with the partitions that exceed it.

    Args:
        limits: the limits.
        damaged: number of quarantined spans by partition.
        gaps: gaps by cause and partition.
        short: logs that end before an offset that they once reached; see `ShortLog`.
    """
    if limits.fail_on_quarantine and damaged:
        spans = sum(damaged.values())
        yield _crossed("fail_on_quarantine", f"{spans} quarantined in {named_counts(damaged)}")
    missing, remote = gaps.get(GapCause.MISSING, {}), gaps.get(GapCause.REMOTE, {})
    doubtful = gaps.get(GapCause.DELETED_OR_LOST, {})
    for name, is_set, what, found in (
        ("fail_on_unexplained_gap", limits.fail_on_unexplained_gap, "missing", missing),
        ("fail_on_unexplained_gap", limits.fail_on_unexplained_gap, "deleted or lost", doubtful),
        ("fail_on_remote_gap", limits.fail_on_remote_gap, "in the remote tier only", remote),
        ("fail_on_short_log", limits.fail_on_short_log, "not on disk", _lacking(short)),
    ):
        if is_set and found:
            count = show_count(offset_count(found), "offset")
            yield _crossed(name, f"{count} {what}: {named_gaps(found)}")


def _crossed(limit: str, what: str) -> Finding:
    name = f"limits.{limit}"
    return Finding(FindingKind.LIMIT_CROSSED, f"{name}: {what}", facts={"limit": name})


def _lacking(short: Iterable[ShortLog]) -> GapsByPartition:
    return gaps_joined({str(log.key): GapRanges.of(log.ranges)} for log in short)
