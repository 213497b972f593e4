"""What a second listing of the sources explains of what the first one left. Pure.

A running broker writes, deletes and cleans while it is looked at: its checkpoints may speak of what
it wrote after its segments were listed.
"""

from collections.abc import Container, Iterable, Sequence

from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.replica_selection import replicas_by_partition
from seglake.kafka_log.short_logs import ShortLog, absent_log, end_claim
from seglake.log_dirs.discovery import Discovery
from seglake.log_tables.coverage import Coverage


def changed_replicas(
    names: Container[str], before: Iterable[Replica], now: Iterable[Replica]
) -> list[Replica]:
    """All copies of partitions of which one has other segments than before, as they are now."""
    sizes = {copy.folder: copy.segments for copy in before}
    listed = [copy for copy in now if str(copy.key) in names]
    changed = {str(copy.key) for copy in listed if sizes.get(copy.folder) != copy.segments}
    return [copy for copy in listed if str(copy.key) in changed]


def confirmed(
    first: Iterable[ShortLog], now: Sequence[Replica], again: dict[str, ShortLog | None]
) -> list[ShortLog]:
    """What of the first look still holds: what was proved by then must be in the second listing.

    Args:
        again: partitions whose segments have changed, as a second look has them; None where there
            was none.
    """
    copies = {copy.folder: copy for log in replicas_by_partition(now) for copy in log}
    found: list[ShortLog | None] = []
    for short in first:
        if short.folder not in copies:
            continue  # its broker deletes or moves it
        name = str(short.key)
        if name in again:
            later = again[name]
            found.append(None if later is None else later.below(short.claim.offset))
        else:
            found.append(short.below(end_claim(copies[short.folder]).offset))
    return [short for short in found if short is not None]


def absent_logs(discovery: Discovery, now: Discovery | None, coverage: Coverage) -> list[ShortLog]:
    """Partitions that checkpoints name and that have no folder, in both listings."""
    listed = () if now is None else now.absent
    again = {(absent.log_dir, absent.partition): absent for absent in listed}
    found: list[ShortLog | None] = []
    for absent in discovery.absent:
        place = absent.log_dir, absent.partition
        if now is not None and place not in again:
            continue
        stop = min(absent.next_offset, again.get(place, absent).next_offset)
        topic, partition = absent.partition
        key = PartitionKey(topic, partition, coverage.latest_topic_id(topic, partition))
        folder = f"{absent.log_dir}/{topic}-{partition}"
        covered = coverage.ranges(key)
        found.append(absent_log(key, folder, (absent.start_offset, stop), covered))
    return [short for short in found if short is not None]
