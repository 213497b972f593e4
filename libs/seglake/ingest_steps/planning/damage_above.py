"""Finds damage above a log's upper bound, and offsets that a remote tier lacks.

This run only reports such damage; the run that ingests these offsets quarantines it. If a log's
listing is unchanged since an earlier run, the log is not read again, because that run's result is
still valid.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

from seglake.findings.shown_offsets import shown_range
from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.kafka_log.observation import DAMAGED, HIDDEN_END, TIER_GAP, UNSEARCHED, LeftRange
from seglake.kafka_log.offset_ranges import common, merged
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.transaction_markers import TransactionState
from seglake.log_dirs.damage_search import DamageFound, DamageSearch, damage_above
from seglake.storage.many_requests import each
from seglake.storage.storage import Storage

DamageAbove = Mapping[PartitionKey, tuple[LeftRange, ...]]

# Limit for all logs of a run together, so that the search does not delay the run.
_MOST_SEARCHED_BYTES = 64 << 20
_UNSEARCHED = (
    f"{UNSEARCHED}the offsets are not ingested yet, and a run searches at most 64 MiB of such data"
)


class _Search(NamedTuple):
    """Log to search from an offset on, and its approximate number of bytes above this offset."""

    partition: SurveyedPartition
    offset: int
    size_bytes: int


def damage_above_bounds(partitions: Iterable[SurveyedPartition], storage: Storage) -> DamageAbove:
    """Read the logs above their upper bounds, and return damaged and unread ranges."""
    found: dict[PartitionKey, tuple[LeftRange, ...]] = {}
    in_tier: dict[PartitionKey, tuple[LeftRange, ...]] = {}
    waiting: list[SurveyedPartition] = []
    searches: list[_Search] = []
    for partition in partitions:
        bounds, listed = partition.bounds, partition.listed
        seen = None if listed.has_moved else listed.earlier
        # The log is ingested up to this offset, by this run or by an earlier run with a higher
        # bound.
        reached = max([bounds.next_offset, *(stop for _, stop in partition.covered)])
        if partition.unread_reason is not None or reached >= bounds.log_end_offset:
            continue
        waiting.append(partition)
        if gaps := tuple(_gaps(partition, reached)):
            in_tier[partition.key] = gaps
        if seen is not None and seen.next_offset == bounds.next_offset:
            known = seen.search_for_damage
            found[partition.key] = tuple(left for left in known if left.log_end_offset > reached)
        else:
            searches.append(_Search(partition, reached, _bytes_above(partition, reached)))
    found |= _searched(searches, storage)
    found |= {key: (*gaps, *found.get(key, ())) for key, gaps in in_tier.items()}
    for partition in waiting:
        left = found.get(partition.key, ())
        found[partition.key] = (*left, *_hidden_ends(partition, left))
    return found


def _gaps(partition: SurveyedPartition, reached: int) -> Iterator[LeftRange]:
    """Yield offsets above the ingested ones that a given remote tier should have but lacks."""
    for start, stop, reason in partition.replica.remote_gaps:
        if stop > reached:
            above = max(start, reached), stop
            yield LeftRange(f"{TIER_GAP}{shown_range(*above)}: {reason}", *above)


def _hidden_ends(partition: SurveyedPartition, left: Iterable[LeftRange]) -> Iterator[LeftRange]:
    """Yield the waiting offsets of open transactions whose markers may be unreadable on the disk.

    Offsets with damaged or absent bytes already have these as their reason.
    """
    named = merged((each.from_offset, each.log_end_offset) for each in left)
    for doubt in partition.bounds.unknown_outcomes:
        start, stop, is_open = *doubt[1:3], doubt.state is TransactionState.OPEN
        if is_open and start >= partition.bounds.next_offset and not common(named, (start, stop)):
            text = (
                f"{HIDDEN_END}a transaction from offset {start} on may have ended in damaged or"
                f" missing bytes below offset {stop}"
            )
            yield LeftRange(text, start, stop)


def _bytes_above(partition: SurveyedPartition, offset: int) -> int:
    """Estimate how many bytes of the segments have offsets at or above an offset."""
    files, total = partition.replica.segments, 0
    stops = [*(file.base_offset for file in files[1:]), partition.bounds.log_end_offset]
    for file, stop in zip(files, stops, strict=True):
        if stop > max(offset, file.base_offset):
            requested_offsets = stop - max(offset, file.base_offset)
            total += file.size_bytes * requested_offsets // (stop - file.base_offset)
    return total


def _searched(searches: list[_Search], storage: Storage) -> DamageAbove:
    """Search logs for damage, the smallest first, up to the limit of bytes."""
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
