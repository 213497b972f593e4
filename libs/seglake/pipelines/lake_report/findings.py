"""Findings on a partition, for a person."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from operator import attrgetter

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.losing_tails import LosingTailKind, TailsOfPartition, shown_tail
from seglake.findings.loss_causes import KIND_OF_STOP, Loss
from seglake.findings.shown_offsets import shown_ranges
from seglake.findings.unread_places import loss_of
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import DAMAGED, NOT_ON_DISK, Observation, UnreadPlace
from seglake.pipelines.lake_report.damage import PartitionDamage
from seglake.pipelines.lake_report.model import DamagedPlace
from seglake.printable import show_count, show_duration
from seglake.segment_codec.formats.errors import DefectCode

_MOST_RANGES = 3
# Kinds of replica conflicts, by a text in the `defect_detail` of quarantined batches.
_CONFLICTS = {
    " lost an election": FindingKind.LOST_TAIL,
    " differs from ": FindingKind.REPLICAS_DIFFER,
    " is of a second log of the same broker; ": FindingKind.TWO_LOGS,
}


def findings_of(
    lost: Mapping[Loss, GapRanges],
    seen: Observation | None,
    damage: PartitionDamage,
    reported: Iterable[Finding],
    *,
    now: datetime,
    stuck_after: timedelta | None,
) -> tuple[Finding, ...]:
    """Return the findings on a partition, the most urgent first, one of each kind.

    Args:
        lost: ranges that were not recovered; each cause is a finding.
        seen: the newest observation of the log; None if there is none.
        damage: damage of the partition.
        reported: findings of the run that requested the report; they replace others of the same
            kind.
        now: time of the report.
        stuck_after: longest time for which a bound may stay the same while the log grows; None for
            no limit.
    """
    found: dict[FindingKind, Finding] = {}
    of_log = () if seen is None else _of_log(seen, lost, now, stuck_after)
    of_losses = [*_of_losses(lost, damage)]
    for finding in (*reported, *of_log, *of_losses, *_of_damage(damage, seen)):
        found.setdefault(finding.kind, finding)
    return tuple(sorted(found.values(), key=attrgetter("rank")))


def tail_findings(tails: TailsOfPartition) -> Iterator[Finding]:
    """Yield the finding on quarantined batches of replicas that lost an election."""
    if lost := tails.get(LosingTailKind.LOST):
        yield Finding(FindingKind.LOST_TAIL, shown_tail(lost))


def unread_findings(places: Iterable[UnreadPlace]) -> Iterator[Finding]:
    """Yield findings on unread files and folders that are named like a partition."""
    for place in places:
        if place.key is not None:
            yield Finding(loss_of(place).kind, place.reason, str(place.key))


def _of_losses(lost: Mapping[Loss, GapRanges], damage: PartitionDamage) -> Iterator[Finding]:
    for loss, gaps in lost.items():
        if not (loss is Loss.QUARANTINED and _is_only_too_large(damage)):
            yield Finding(loss.kind, _shown(gaps))


def _is_only_too_large(damage: PartitionDamage) -> bool:
    """Return whether all unresolved damage is valid batches above the decompression limit."""
    codes = {place.code for place in damage.places if not place.is_resolved}
    is_all = damage.place_count == len(damage.places)
    return is_all and codes - {DefectCode.REPLICA_CONFLICT} == {DefectCode.DECOMPRESSION_LIMIT}


def _of_damage(damage: PartitionDamage, seen: Observation | None) -> Iterator[Finding]:
    for place in damage.places:
        if place.code == DefectCode.REPLICA_CONFLICT:
            for text, kind in _CONFLICTS.items():
                if text in place.detail:
                    yield Finding(kind, place.detail)
            continue
        if place.is_resolved:
            continue
        if place.code == DefectCode.DECOMPRESSION_LIMIT:
            yield Finding(FindingKind.TOO_LARGE, place.detail)
        if _is_at_end(place, seen):
            where = f"{place.code} at byte {place.position} of {place.segment}"
            yield Finding(
                FindingKind.QUARANTINED, f"the log ends in {where}; nothing shows its offsets"
            )


def _is_at_end(place: DamagedPlace, seen: Observation | None) -> bool:
    """Return whether this damage was at the end of the log in the newest observation."""
    if seen is None or seen.log_end_offset is None or place.next_offset is not None:
        return False
    start = seen.log_start_offset or 0
    end = start if place.previous_offset is None else place.previous_offset + 1
    return seen.log_end_offset <= end


def _of_log(
    seen: Observation,
    lost: Mapping[Loss, GapRanges],
    now: datetime,
    stuck_after: timedelta | None,
) -> Iterator[Finding]:
    since = seen.waiting_since
    if since is not None and stuck_after is not None and seen.is_stuck(now, stuck_after):
        standing = show_duration(int((now - since) / timedelta(milliseconds=1)))
        yield Finding(FindingKind.STUCK, f"{standing}, {show_count(seen.moved_offsets, 'offset')}")
    if seen.not_on_disk and Loss.NOT_ON_DISK in lost:
        why = dict.fromkeys(left.reason.removeprefix(NOT_ON_DISK) for left in seen.not_on_disk)
        yield Finding(
            FindingKind.NOT_ON_DISK, f"{_shown(lost[Loss.NOT_ON_DISK])}: {'; '.join(why)}"
        )
    if damaged := [
        f"{left.reason.removeprefix(DAMAGED)}" for left in seen.waiting if left.is_damaged
    ]:
        yield Finding(FindingKind.DAMAGED_ABOVE, "; ".join(damaged))
    kind = KIND_OF_STOP.get(seen.stopped_by)
    if kind is FindingKind.NO_HIGH_WATERMARK and Loss.NO_HIGH_WATERMARK not in lost:
        return  # earlier runs have ingested the log to its end
    if kind is not None and kind is not FindingKind.WAITING:
        detail = seen.detail if seen.has_unread_reason else None
        reasons = [detail, *(each.reason for each in seen.waiting)]
        yield Finding(kind, "; ".join(text for text in reasons if text))


def _shown(found: GapRanges) -> str:
    """Return the number of offsets and the first ranges as text."""
    ranges = shown_ranges(found.ranges[:_MOST_RANGES])
    more = ", …" if len(found.ranges) > _MOST_RANGES else ""
    return f"{show_count(found.offsets, 'offset')} in {ranges}{more}"
