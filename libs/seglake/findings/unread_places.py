"""Adds unread files and folders to the recovery of partitions."""

from collections.abc import Iterable
from dataclasses import replace

from seglake.findings.loss_causes import UNKNOWN, Loss
from seglake.findings.recovery import PartitionRecovery, Recovery
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import UnreadPlace
from seglake.kafka_log.offset_ranges import merged, without
from seglake.printable import on_one_line


def recovery_with(known: Iterable[PartitionRecovery], places: Iterable[UnreadPlace]) -> Recovery:
    """Return the recovery of each partition, including places that were not read.

    Partitions that only unread places name are added.

    Args:
        known: the recovery of each partition, before unread places are added.
        places: places that were not read, with the offsets that the lake lacks.
    """
    listed = [*places]
    partitions = [with_unread(each, listed) for each in known]
    names = {each.name for each in partitions}
    absent = {place.key: _absent(place) for place in listed if _is_absent(place, names)}
    reasons = (place.reason for place in listed if not place.is_named_only)
    return Recovery((*partitions, *absent.values()), tuple(map(on_one_line, reasons)))


def with_unread(each: PartitionRecovery, places: Iterable[UnreadPlace]) -> PartitionRecovery:
    """Return the recovery with the cause LEFT_OUT for all offsets of unread files."""
    left = merged(
        offsets
        for place in places
        if place.is_on_disk and str(place.key) == each.name
        for offsets in place.ranges
    )
    if not left:
        return each
    lost = dict(each.lost)
    known = lost.pop(Loss.LEFT_OUT, UNKNOWN).ranges
    for cause, gaps in each.lost.items():
        if cause in lost and cause.is_there and gaps.ranges:
            rest = without(gaps.ranges, *left)
            lost[cause] = GapRanges.of(rest)
            if not rest:
                del lost[cause]
    return replace(each, lost={**lost, Loss.LEFT_OUT: GapRanges.of(merged([*known, *left]))})


def loss_of(place: UnreadPlace) -> Loss:
    """Return the cause for an unread place's offsets."""
    if place.is_named_only:
        return Loss.NAMED_ONLY
    return Loss.LEFT_OUT if place.is_on_disk else Loss.NOT_ON_DISK


def _is_absent(place: UnreadPlace, known: set[str]) -> bool:
    """Return whether a place is a partition that only unread places name."""
    is_folder = place.key is not None and place.path.endswith(f"/{place.key}")
    return place.is_named_only or (is_folder and str(place.key) not in known)


def _absent(place: UnreadPlace) -> PartitionRecovery:
    gaps = GapRanges.of(merged(place.ranges)) if place.ranges else UNKNOWN
    return PartitionRecovery(name=str(place.key), records=0, lost={loss_of(place): gaps})
