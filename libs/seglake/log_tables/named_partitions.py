"""Reads from `cluster_metadata` which partitions exist at the end of the metadata log."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.kafka_log.replica import PartitionKey
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_rows import plain_texts, read_rows
from seglake.lake.tables import CLUSTER_METADATA

_BEGIN, _END, _ABORT = "begin_transaction", "end_transaction", "abort_transaction"
_TYPES = ("topic", "remove_topic", "partition", _BEGIN, _END, _ABORT)
_POSITION_DIGITS = 20  # the name of a snapshot begins with its end offset


class _Record(NamedTuple):
    """A record of the metadata log or of one of its snapshots."""

    position: int
    snapshot: str
    offset: int
    kind: str
    topic: str | None
    topic_id: str | None
    partition: int | None


def named_partitions(tables: LakeTables, source_id: str) -> list[PartitionKey]:
    """Return the partitions of a source that exist at the end of its metadata log, in order.

    Raises:
        SeglakeError: the table cannot be read.
    """
    records: list[_Record] = []
    torn: set[str] = set()
    for rows in _rows(tables, source_id):
        for row in rows.to_pylist():
            if row["record_offset"] is None:  # unreadable bytes in the snapshot
                torn.add(row["snapshot"])
            else:
                records.append(_record(row))
    return _existing(_settled(_since_newest_snapshot(records, torn)))


def _rows(tables: LakeTables, source_id: str) -> Iterator[pa.Table]:
    """Yield one source's rows of `cluster_metadata` about topics, partitions and transactions."""
    import pyarrow.compute as pc  # imported only when needed, since the import takes 0.05 s

    columns = ("source_id", "record_type", *_Record._fields[4:], "snapshot", "record_offset")
    for path in tables.file_paths(CLUSTER_METADATA) if tables.has(CLUSTER_METADATA) else ():
        for found in read_rows(tables.storage, path, columns):
            rows = plain_texts(found)
            is_chosen = pc.is_in(rows["record_type"], value_set=pa.array(_TYPES))
            is_chosen = pc.or_(is_chosen, pc.is_null(rows["record_offset"]))
            yield rows.filter(
                pc.and_(is_chosen, pc.is_in(rows["source_id"], value_set=pa.array([source_id])))
            )


# Any: the columns have many types.
def _record(row: dict[str, Any]) -> _Record:
    """Convert a row of `cluster_metadata` to a record."""
    snapshot, offset = row["snapshot"] or "", row["record_offset"]
    position = int(snapshot[:_POSITION_DIGITS]) if snapshot else offset + 1
    named = (row[name] for name in _Record._fields[4:])
    return _Record(position, snapshot, offset, row["record_type"], *named)


def _since_newest_snapshot(records: Iterable[_Record], torn: set[str]) -> list[_Record]:
    """Return the newest complete snapshot and the later records, in order."""
    ordered = sorted(records, key=lambda record: record[:3])
    whole = (record.position for record in ordered if record.snapshot not in {"", *torn})
    start = max(whole, default=0)
    return [
        record
        for record in ordered
        if record.position > start or (record.snapshot and record.position == start)
    ]


def _settled(records: Sequence[_Record]) -> Iterator[_Record]:
    """Yield the records outside transactions or in a completed one."""
    waiting: list[_Record] = []
    is_open = False
    for record in records:
        if record.kind in (_BEGIN, _END, _ABORT):
            if record.kind == _END:
                yield from waiting
            waiting, is_open = [], record.kind == _BEGIN
        elif is_open and not record.snapshot:
            waiting.append(record)
        else:
            yield record


def _existing(records: Iterable[_Record]) -> list[PartitionKey]:
    """Return the partitions of topics that still exist."""
    topics: dict[str | None, str] = {}
    partitions: set[tuple[str | None, int]] = set()
    for record in records:
        if record.kind == "topic" and record.topic is not None:
            topics[record.topic_id] = record.topic
        elif record.kind == "remove_topic":
            topics.pop(record.topic_id, None)
        elif record.partition is not None:
            partitions.add((record.topic_id, record.partition))
    return sorted(
        PartitionKey(topics[topic_id], partition, topic_id)
        for topic_id, partition in partitions
        if topic_id in topics
    )
