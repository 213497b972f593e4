"""Damage above what a run may ingest of a log: it is said now, and quarantined later. Effect."""

from collections.abc import Iterable, Mapping

from seglake.kafka_log.observation import DAMAGED, LeftRange
from seglake.kafka_log.replica import PartitionKey
from seglake.log_dirs.damage_search import DamageFound, damage_above
from seglake.pipelines.segment_ingest.planning.surveyed_partition import SurveyedPartition
from seglake.storage.many_requests import each
from seglake.storage.storage import Storage

DamageAbove = Mapping[PartitionKey, tuple[LeftRange, ...]]


def damage_above_bounds(partitions: Iterable[SurveyedPartition], storage: Storage) -> DamageAbove:
    """Read what lies above the bounds of logs, and return what of it is damaged."""
    waiting = [
        partition
        for partition in partitions
        if partition.unread_reason is None and _reached(partition) < partition.bounds.log_end_offset
    ]
    if not waiting:
        return {}

    def found(partition: SurveyedPartition) -> tuple[DamageFound, ...]:
        return damage_above(storage, partition.replica, _reached(partition))

    answers = each(found, waiting, storage=storage, path=waiting[0].replica.folder)
    return {
        partition.key: tuple(map(_left, damage))
        for partition, damage in zip(waiting, answers, strict=True)
        if damage
    }


def _reached(partition: SurveyedPartition) -> int:
    """The offset up to which a log is ingested, by this run or by one with a higher bound."""
    return max([partition.bounds.next_offset, *(stop for _, stop in partition.covered)])


def _left(damage: DamageFound) -> LeftRange:
    what = f"{DAMAGED}{damage.code} at byte {damage.position} of {damage.segment}"
    return LeftRange(what, damage.start_offset, damage.next_offset)
