"""Reports of all partitions, from the tables' rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.loss_causes import Loss
from seglake.findings.recovery import PartitionRecovery
from seglake.findings.unread_places import with_unread
from seglake.grouping import grouped
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import Observation, UnreadPlace
from seglake.pipelines.lake_report.damage import PartitionDamage
from seglake.pipelines.lake_report.findings import findings_of, tail_findings
from seglake.pipelines.lake_report.ledger import Ledger, LogName, Row
from seglake.pipelines.lake_report.model import (
    OffsetState,
    PartitionReport,
)
from seglake.pipelines.lake_report.recovered import partition_recovery
from seglake.pipelines.lake_report.strips import offsets_by_state, within_budget

_MOST_RANGES = 80_000  # most ranges to draw on a page: about 1.3 MB
MOST_PLACES = 50  # damaged spans to list for a partition
# Most damaged spans to list for all partitions together: about 0.6 MB of the page.
_MOST_PLACES_IN_ALL = 4_000


class LogFacts(NamedTuple):
    """Rows of a lake's tables about its partitions."""

    ledger: Ledger
    gaps: Mapping[LogName, Sequence[Row]]
    seen: Mapping[LogName, Observation]
    damage: Mapping[LogName, PartitionDamage]
    open_records: Mapping[LogName, int] = MappingProxyType({})
    unread: Sequence[UnreadPlace] = ()


def partition_reports(
    facts: LogFacts,
    reported: Iterable[Finding],
    *,
    now: datetime,
    stuck_after: timedelta | None,
) -> tuple[PartitionReport, ...]:
    """Return reports of all partitions in the tables, the most urgent first.

    Args:
        facts: rows of the tables.
        reported: findings of a run; only findings on partitions are used.
        now: time of the report.
        stuck_after: longest time for which a bound may stay the same while the log grows; None for
            no limit.
    """
    logs = sorted({*facts.ledger.rows, *facts.seen, *facts.damage}, key=_by_name)
    by_name = grouped((finding.place, finding) for finding in reported)
    strips = within_budget([_strip(log, facts) for log in logs], _MOST_RANGES)
    damages = [facts.damage.get(log, PartitionDamage()) for log in logs]
    listed = sum(len(damage.places) for damage in damages)
    # If the lake has more damaged spans, each partition lists fewer.
    share = (
        max(1, _MOST_PLACES_IN_ALL * MOST_PLACES // listed)
        if listed > _MOST_PLACES_IN_ALL
        else None
    )
    recovered = [_recovery(log, strip, facts) for log, strip in zip(logs, strips, strict=True)]
    found = [
        PartitionReport(
            source_id=log.source_id,
            key=log.key,
            recovery=recovery,
            offsets=strip,
            seen=facts.seen.get(log),
            findings=findings_of(
                recovery.lost,
                facts.seen.get(log),
                damage,
                [*tail_findings(recovery.tails), *by_name.get(str(log.key), ())],
                now=now,
                stuck_after=stuck_after,
            ),
            damage=damage.places[:share],
            damage_count=damage.place_count,
        )
        for log, strip, recovery, damage in zip(logs, strips, recovered, damages, strict=True)
    ]
    return tuple(sorted(found, key=_urgency))


def _strip(log: LogName, facts: LogFacts) -> dict[OffsetState, GapRanges]:
    return offsets_by_state(facts.ledger.of(log), facts.gaps.get(log, ()), facts.seen.get(log))


def _recovery(
    log: LogName, strip: Mapping[OffsetState, GapRanges], facts: LogFacts
) -> PartitionRecovery:
    ledger, seen = facts.ledger.of(log), facts.seen.get(log)
    tails = facts.damage.get(log, PartitionDamage()).tails
    expired_loss = sum(row["expired_loss"] for row in facts.gaps.get(log, ()))
    records = facts.ledger.records(log)
    found = partition_recovery(ledger, records, strip, seen, tails, expired_loss)
    found = replace(found, open_records=facts.open_records.get(log, 0))
    return with_unread(found, facts.unread)


def _by_name(log: LogName) -> tuple[str, int, str, str]:
    key = log.key
    return key.topic, key.partition, log.source_id, key.topic_id or ""


def _urgency(each: PartitionReport) -> tuple[int, int, int]:
    """Return a sort key by urgency: level, most urgent finding, number of lost offsets."""
    lost = (Loss.MISSING, Loss.QUARANTINED, Loss.SUPERSEDED)
    return (
        -each.level,
        each.findings[0].rank if each.findings else len(FindingKind),
        -sum(gaps.offsets for cause, gaps in each.recovery.lost.items() if cause in lost),
    )
