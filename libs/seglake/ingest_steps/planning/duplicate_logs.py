"""Finds two logs of one partition on one broker.

Kafka does not start with two such logs. They arise if a log dir fails, the broker creates the
partition anew in another one, and the first log dir comes back (KAFKA-16234). The broker did not
have the first log when it created the second one. So neither log lost an election to the other,
even if their leader epochs suggest it. Copies of one log dir from different times are not second
logs.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import combinations
from typing import NamedTuple

from seglake.grouping import grouped
from seglake.kafka_log.replica import Replica
from seglake.log_dirs.batch_walk import BatchHead, LogHeads
from seglake.log_tables.batch_lookup import IngestedBatches
from seglake.segment_codec.formats.errors import SegmentCodecError
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX
from seglake.storage.errors import StorageError
from seglake.storage.storage import Storage


class DuplicateLog(NamedTuple):
    """A second folder of a partition on one broker.

    Attributes:
        kept: the log that is read.
        other: the second log.
        is_same_log: whether both logs begin with the same batches. If so, they are read as copies
            of one log.
    """

    kept: Replica
    other: Replica
    is_same_log: bool

    @property
    def reason(self) -> str:
        """Return why one of the two logs is not read, and what to do, as text."""
        key, broker_id, kept, other = self.kept.key, self.kept.broker_id, self.kept, self.other
        if self.is_same_log:
            return (
                f"{key}: broker {broker_id} has it in two log dirs, {kept.folder} and "
                f"{other.folder}, and Kafka does not start with such a disk. Both begin with "
                "the same batches and are read as copies of one log; give only the log dir that "
                "the broker uses"
            )
        return (
            f"{key}: broker {broker_id} has two logs of it, {kept.folder} and {other.folder}, and "
            "Kafka does not start with such a disk. One broker cannot lose an election to itself: "
            f"the log in {kept.folder} is read, and an ingest puts the batches of the other into "
            "quarantine (replica_conflict). If the other log is the right one, ingest its log dir "
            "alone into another lake"
        )


class SeparatedLogs(NamedTuple):
    """Replicas that may be copies of one log, and the second logs among the listed replicas."""

    replicas: Sequence[Replica]
    duplicates: Sequence[DuplicateLog]


def separated(
    replicas: Iterable[Replica], lake: IngestedBatches | None, storage: Storage
) -> SeparatedLogs:
    """Return the replicas without second logs of a partition on one broker, and the second logs.

    If two logs begin with different batches, the log that the lake has is kept. If the lake has
    neither, the larger log is kept.

    Args:
        replicas: all listed replicas.
        lake: the lake's batches; None without a lake.
        storage: the storage of the replicas.
    """
    listed = list(replicas)
    by_broker = grouped(((replica.key, replica.broker_id), replica) for replica in listed)
    found = [
        duplicate
        for copies in by_broker.values()
        if any(one.may_be_duplicate_of(other) for one, other in combinations(copies, 2))
        for duplicate in _duplicates(copies, lake, storage)
    ]
    removed = {found.other.folder for found in found if not found.is_same_log}
    rest = [replica for replica in listed if replica.folder not in removed]
    return SeparatedLogs(rest, found)


def _duplicates(
    copies: Iterable[Replica], lake: IngestedBatches | None, storage: Storage
) -> Iterator[DuplicateLog]:
    live = sorted(
        (copy for copy in copies if not copy.is_future),
        key=lambda copy: (-sum(file.size_bytes for file in copy.segments), copy.folder),
    )
    if lake is not None and any(_are_two_logs(live[0], other, storage) for other in live[1:]):
        live.sort(key=lambda copy: not _is_in_lake(copy, lake, storage))
    kept, *others = live
    for other in others:
        if other.may_be_duplicate_of(kept):
            are_two = _are_two_logs(kept, other, storage)
            if are_two or None not in (kept.directory_id, other.directory_id):
                yield DuplicateLog(kept, other, is_same_log=not are_two)


def _are_two_logs(one: Replica, other: Replica, storage: Storage) -> bool:
    """Return whether two folders have different logs, rather than copies of one log."""
    start = max(one.log_start_offset, other.log_start_offset)
    if not one.may_be_duplicate_of(other):
        return False
    # Reading the whole log finds this error again and reports it.
    with suppress(StorageError, SegmentCodecError):
        with (
            closing(_sound(one, start, storage)) as ours,
            closing(_sound(other, start, storage)) as theirs,
        ):
            first, second = _first_pair(ours, theirs)
        if first is not None and second is not None:
            return _differ(first, second)
        if first is not None:
            return _is_newer_below(other, one, first)
        if second is not None:
            return _is_newer_below(one, other, second)
    return False


def _sound(copy: Replica, start: int, storage: Storage) -> Generator[BatchHead, None, None]:
    log = LogHeads.of(storage, copy)
    with closing(log.between((start, OFFSET_MAX))) as heads:
        yield from (head for head in heads if log.is_sound(head))


def _first_pair(
    ours: Iterator[BatchHead], theirs: Iterator[BatchHead]
) -> tuple[BatchHead | None, BatchHead | None]:
    """Return the first batches of two logs that share an offset; None if a log ends earlier."""
    one, other = next(ours, None), next(theirs, None)
    while one is not None and other is not None:
        if one.last_offset < other.first_offset:
            one = next(ours, None)
        elif other.last_offset < one.first_offset:
            other = next(theirs, None)
        else:
            break
    return one, other


def _differ(one: BatchHead, other: BatchHead) -> bool:
    """Return whether two batches have different leaders, or differ not just by compaction."""
    epochs = one.leader_epoch, other.leader_epoch
    if None not in epochs and epochs[0] != epochs[1]:
        return True
    is_equal = (one.last_offset, one.crc) == (other.last_offset, other.crc)
    return not is_equal and one.is_dense and other.is_dense


def _is_newer_below(lower: Replica, upper: Replica, first: BatchHead) -> bool:
    """Return whether the shorter log has a newer leader epoch than the longer log begins with."""
    known = upper.epochs[0].epoch if upper.epochs else first.leader_epoch
    return bool(lower.epochs) and known is not None and lower.epochs[-1].epoch > known


def _is_in_lake(copy: Replica, lake: IngestedBatches, storage: Storage) -> bool:
    """Return whether the lake has the first batch of a log."""
    with suppress(StorageError, SegmentCodecError):
        with closing(_sound(copy, copy.log_start_offset, storage)) as heads:
            first = next(heads, None)
        ingested = None if first is None else lake.holding(copy.key, first.first_offset)
        if first is not None and ingested is not None:
            epochs = first.leader_epoch, ingested.header.leader_epoch
            return first.crc == ingested.header.crc and (None in epochs or epochs[0] == epochs[1])
    return False
