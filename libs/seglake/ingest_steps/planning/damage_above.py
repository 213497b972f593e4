"""Finds damage above a log's upper bound: reported now, quarantined by a later run. Effect.

A log whose listing is unchanged since an earlier run is not read again; that run's result still
holds.
"""

from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import NamedTuple

from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.kafka_log.observation import DAMAGED, UNSEARCHED, LeftRange
from seglake.kafka_log.replica import PartitionKey
from seglake.log_dirs.damage_search import DamageFound, DamageSearch, damage_above
from seglake.storage.many_requests import each
from seglake.storage.storage import Storage

DamageAbove = Mapping[PartitionKey, tuple[LeftRange, ...]]

_MOST_SEARCHED_BYTES = 64 << 20  # limit of all logs together; more would delay a run
_UNSEARCHED = f"{UNSEARCHED}it waits, and of what waits a run reads 64 MiB"


class _Search(NamedTuple):
    """A log to search from an offset on, and the estimated bytes above it."""

    partition: SurveyedPartition
    offset: int
    size_bytes: int


def damage_above_bounds(partitions: Iterable[SurveyedPartition], storage: Storage) -> DamageAbove:
    """Read the logs above their upper bounds, and return damaged and unread ranges."""
    found: dict[PartitionKey, tuple[LeftRange, ...]] = {}
    searches: list[_Search] = []
    for partition in partitions:
        bounds, listed = partition.bounds, partition.listed
        seen = None if listed.has_moved else listed.earlier
        # Offset up to which this run, or an earlier one with a higher bound, has ingested the log.
        reached = max([bounds.next_offset, *(stop for _, stop in partition.covered)])
        if partition.unread_reason is not None or reached >= bounds.log_end_offset:
            continue
        if seen is not None and seen.next_offset == bounds.next_offset:
            known = seen.search_for_damage
            found[partition.key] = tuple(left for left in known if left.log_end_offset > reached)
        else:
            searches.append(_Search(partition, reached, _bytes_above(partition, reached)))
    return {**found, **_searched(searches, storage)}


def _bytes_above(partition: SurveyedPartition, offset: int) -> int:
    """Estimate the bytes above an offset: a share of each segment."""
    files, total = partition.replica.segments, 0
    stops = [*(file.base_offset for file in files[1:]), partition.bounds.log_end_offset]
    for file, stop in zip(files, stops, strict=True):
        if stop > max(offset, file.base_offset):
            requested_offsets = stop - max(offset, file.base_offset)
            total += file.size_bytes * requested_offsets // (stop - file.base_offset)
    return total


def _searched(searches: list[_Search], storage: Storage) -> DamageAbove:
    """Search the logs, small ones first, up to a run's limit of bytes."""
    if not searches:
        return {}
    searches.sort(key=lambda search: search.size_bytes)
    before = accumulate((search.size_bytes for search in searches), initial=0)
    limits = [max(_MOST_SEARCHED_BYTES - size_bytes, 0) for size_bytes in before]

    def found(item: tuple[_Search, int]) -> DamageSearch:
        search, most_bytes = item
        return damage_above(storage, search.partition.replica, search.offset, most_bytes)

    path = searches[0].partition.replica.folder
    pairs = list(zip(searches, limits, strict=False))
    answers = each(found, pairs, storage=storage, path=path)
    return {
        search.partition.key: tuple(_left(answer, search.partition))
        for search, answer in zip(searches, answers, strict=True)
    }


def _left(answer: DamageSearch, partition: SurveyedPartition) -> list[LeftRange]:
    left = [_damage(damage) for damage in answer.found]
    if answer.stopped_offset is not None:
        end = partition.bounds.log_end_offset
        left.append(LeftRange(_UNSEARCHED, answer.stopped_offset, end))
    return left


def _damage(damage: DamageFound) -> LeftRange:
    what = f"{DAMAGED}{damage.code} at byte {damage.position} of {damage.segment}"
    return LeftRange(what, damage.start_offset, damage.next_offset)
