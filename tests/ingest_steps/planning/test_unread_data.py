"""What a round leaves although it is, or should be, on the disks."""

from seglake.ingest_steps.planning.partitions import ListedPartition
from seglake.ingest_steps.planning.unread_data import UnreadData, unread_data
from seglake.kafka_log.replica import Replica, UnreadSegment
from seglake.log_tables.partition_ledger import PartitionLedger
from support.planned import KEY, replica, surveyed

_GZ = UnreadSegment(100, "100.log.gz", 7)


def _of(*log: Replica, covered: tuple[int, int] = (0, 0)) -> UnreadData:
    return unread_data(ListedPartition(log, PartitionLedger.covering(KEY, [covered])), None)


def _ranges(found: UnreadData) -> tuple[tuple[int, int], ...]:
    return () if found.short is None else found.short.ranges


def test_a_surveyed_log_is_short_of_what_its_files_prove() -> None:
    partition = surveyed(high_watermark=170)
    found = unread_data(partition.listed, partition)
    assert _ranges(found) == ((100, 170),)
    assert found.unread == ()


def test_what_is_compressed_is_not_gone() -> None:
    partition = surveyed(high_watermark=170)
    copy = partition.replica._replace(unread=(_GZ,))
    partition = partition._replace(choice=partition.choice._replace(chosen=copy))
    found = unread_data(partition.listed._replace(replicas=(copy,)), partition)
    assert found.short is None
    (log,) = found.unread
    assert (log.ranges, log.segments) == (((100, 170),), (_GZ,))


def test_a_log_without_a_segment_is_looked_at_without_a_survey() -> None:
    empty = replica(high_watermark=170)._replace(segments=())
    assert _ranges(_of(empty)) == ((0, 170),)
    assert _ranges(_of(empty, covered=(0, 90))) == ((90, 170),)
    assert _of(empty, covered=(0, 170)) == UnreadData()
    assert _of(empty._replace(is_future=True)) == UnreadData()


def test_of_several_without_a_segment_the_one_that_proves_most_is_named() -> None:
    empty = [
        replica(high_watermark=mark, broker_id=mark)._replace(segments=()) for mark in (90, 170, 80)
    ]
    short = _of(*empty).short
    assert short is not None
    assert short.folder == "/disks/170/orders-0"
    assert _of(*empty, replica(high_watermark=170)) == UnreadData()
