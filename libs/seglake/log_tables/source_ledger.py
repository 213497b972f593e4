"""Ledger of one source, by partition."""

from collections.abc import Iterable, Iterator

from seglake.kafka_log.observation import UnreadPlace
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.log_tables.partition_ledger import PartitionLedger, Row


class SourceLedger:
    """Ledger rows of one source, by partition.

    Rows without a topic id belong to the first known topic id of their topic.

    Attributes:
        isolations: isolation level of each topic's first ingest.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        """Group the rows by partition.

        Args:
            rows: rows of one source, in any order.
        """
        self.isolations: dict[str, str] = {}
        self._rows: dict[tuple[str, int], list[Row]] = {}
        self._topic_ids: dict[str, list[str]] = {}
        self._slices: dict[PartitionKey, PartitionLedger] = {}
        for row in sorted(rows, key=lambda row: row["generation"]):
            self._rows.setdefault((row["topic"], row["partition"]), []).append(row)
            self.isolations.setdefault(row["topic"], row["isolation"])
            if row["topic_id"] is not None:
                self._topic_ids.setdefault(row["topic"], []).append(row["topic_id"])

    @property
    def topics(self) -> list[str]:
        """Return the topics that have ingested offsets, sorted."""
        return sorted(self.isolations)

    def partitions(self) -> set[PartitionKey]:
        """Return the partitions with ingested ranges."""
        return {self.key_of(row) for rows in self._rows.values() for row in rows}

    def of(self, key: PartitionKey) -> PartitionLedger:
        """Return the ledger of a partition; without rows if nothing was ingested."""
        if key not in self._slices:
            ids = self._topic_ids.get(key.topic)
            first_id = ids[0] if ids else key.topic_id
            rows = self._rows.get((key.topic, key.partition), ())
            own = [row for row in rows if (row["topic_id"] or first_id) == key.topic_id]
            owns_unnamed = self.joined_key(key._replace(topic_id=None)) == key
            self._slices[key] = PartitionLedger(key, own, owns_unnamed)
        return self._slices[key]

    def of_row(self, row: Row) -> PartitionLedger:
        """Return the ledger of the partition to which a table's row belongs."""
        return self.of(self.key_of(row))

    def key_of(self, row: Row) -> PartitionKey:
        """Return the partition to which a table's row belongs."""
        return self.joined_key(PartitionKey(row["topic"], row["partition"], row["topic_id"]))

    def joined_key(self, key: PartitionKey) -> PartitionKey:
        """Return the key; if it lacks a topic id, add the topic's first known id."""
        ids = self._topic_ids.get(key.topic)
        return key._replace(topic_id=ids[0]) if key.topic_id is None and ids else key

    def latest_key(self, topic: str, partition: int) -> PartitionKey:
        """Return the partition with its newest known topic id.

        The id comes from the partition's newest row, or else from the topic's newest row. A
        partition folder without a topic id is assumed to have this id.
        """
        rows = self._rows.get((topic, partition), ())
        named = [row["topic_id"] for row in rows if row["topic_id"] is not None]
        ids = named or self._topic_ids.get(topic) or [None]
        return PartitionKey(topic, partition, ids[-1])

    def named(self, replica: Replica) -> Replica:
        """Return the replica; if it lacks a topic id, add the newest id in the ledger."""
        key = replica.key
        if key.topic_id is not None:
            return replica
        return replica._replace(key=self.latest_key(*key[:2]), has_id_of_lake=True)

    def of_copy(self, replica: Replica) -> PartitionLedger:
        """Return the ledger of a replica's partition."""
        return self.of(self.joined_key(self.named(replica).key))

    def uncovered(self, places: Iterable[UnreadPlace]) -> Iterator[UnreadPlace]:
        """Yield the unread files that have offsets outside the lake, with only these offsets."""
        for place in places:
            key = place.key
            covered = () if key is None else self.of(self.latest_key(*key[:2])).covered
            rest = place.outside(covered)
            if rest is not None:
                yield rest

    def adopt(self, topic: str, topic_id: str) -> None:
        """Assign rows without a topic id to this id, unless the topic already has an id."""
        self._topic_ids.setdefault(topic, [topic_id])
        self._slices.clear()
