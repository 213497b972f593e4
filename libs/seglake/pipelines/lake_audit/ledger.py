"""The ledger's rows by partition, as the audit reads them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from seglake.grouping import grouped
from seglake.kafka_log.replica import PartitionKey

Row = Mapping[str, Any]  # Any: a row's columns have many types
FirstIds = Mapping[tuple[str, str], str]


class LakePartition(NamedTuple):
    """Identity of a log, with its cluster: several clusters may have a partition of one name."""

    source_id: str
    key: PartitionKey

    def __str__(self) -> str:
        """Return the partition's name without its cluster."""
        return str(self.key)


def first_topic_ids(rows: Iterable[Row]) -> dict[tuple[str, str], str]:
    """Return the first known id of each (source, topic), which stands for rows without an id."""
    found: dict[tuple[str, str], str] = {}
    for row in sorted(rows, key=lambda row: int(row["generation"])):
        if row["topic_id"] is not None:
            found.setdefault((row["source_id"], row["topic"]), row["topic_id"])
    return found


def rows_by_partition(rows: Iterable[Row], first_ids: FirstIds) -> dict[LakePartition, list[Row]]:
    """Return the ledger's rows of each partition, ordered by offset."""
    ordered = sorted(rows, key=lambda row: (row["start_offset"], row["generation"]))
    return grouped((_partition_of(row, first_ids), row) for row in ordered)


def unread_places(rows: Iterable[Row]) -> list[Row]:
    """Return each cluster's newest rows of `observations` that name no partition."""
    listed = [*rows]
    newest: dict[str, datetime] = {}
    for row in listed:
        time, source_id = row["observed_at"], row["source_id"]
        newest[source_id] = max(time, newest.get(source_id, time))
    return [
        row
        for row in listed
        if row["partition"] is None and row["observed_at"] == newest[row["source_id"]]
    ]


def newest_by_partition(rows: Iterable[Row], first_ids: FirstIds) -> dict[LakePartition, Row]:
    """Return each partition's newest row of `observations`."""
    found: dict[LakePartition, Row] = {}
    for row in rows:
        if row["partition"] is None:
            continue
        partition = _partition_of(row, first_ids)
        newest = found.setdefault(partition, row)
        if row["observed_at"] > newest["observed_at"]:
            found[partition] = row
    return found


def _partition_of(row: Row, first_ids: FirstIds) -> LakePartition:
    topic_id = row["topic_id"] or first_ids.get((row["source_id"], row["topic"]))
    return LakePartition(row["source_id"], PartitionKey(row["topic"], row["partition"], topic_id))
