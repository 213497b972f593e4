"""Reads a partition's rows in the lake between two offsets. Runs in tasks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from seglake.lake.parquet_rows import Within, is_one_of, numbers, read_rows
from seglake.lake.snapshots import StoredFile
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS, Table
from seglake.pipelines.lake_audit.disk_check.ledger_rows import LedgerFacts
from seglake.pipelines.lake_audit.disk_check.record_compare import PAYLOAD_COLUMNS
from seglake.pipelines.lake_audit.ledger import LakePartition
from seglake.segment_codec.formats.errors import DefectCode
from seglake.storage.storage import Storage

_KEY_COLUMNS = ("source_id", "topic_id", "partition")
# Tables whose rows have a generation (number of the topic's commit), with their offset column.
_PLACES = {RECORDS.name: "offset", BATCHES.name: "base_offset"}


class Quarantined(NamedTuple):
    """Batches of a partition that are in quarantine.

    Attributes:
        places: segment and position of one broker's unresolved batches.
        of_losers: last offset, CRC and size of batches whose replica lost an election. A batch that
            several replicas have is listed only once.
    """

    places: frozenset[tuple[str, int]] = frozenset()
    of_losers: frozenset[tuple[int, int, int]] = frozenset()


class LakeRows(NamedTuple):
    """A partition of a lake, and the files that may have rows of it.

    Attributes:
        storage: storage of the lake.
        ledger: decides which rows lost an election, or are not in the ledger yet.
        has_null_id: whether rows without a topic id also belong to the partition.
        files: data files by table.
    """

    storage: Storage
    ledger: LedgerFacts
    has_null_id: bool
    files: Mapping[str, Sequence[StoredFile]]

    @property
    def partition(self) -> LakePartition:
        """Return the identity of the partition, with its cluster."""
        return self.ledger.partition

    def payloads(self, first_offset: int, last_offset: int) -> pa.Table:
        """Return the records from the first to the last offset, inclusive, with PAYLOAD_COLUMNS."""
        only = [Within("offset", first_offset, last_offset)]
        return self._read(RECORDS, PAYLOAD_COLUMNS, only)

    def batches_at(self, first_offset: int, last_offset: int) -> pa.Table:
        """Return the batches that overlap a range of offsets, by rising base offset."""
        only = [
            Within("base_offset", at_most=last_offset),
            Within("last_offset", at_least=first_offset),
        ]
        columns = ("base_offset", "last_offset", "crc", "leader_epoch", "state")
        return self._read(BATCHES, columns, only).sort_by("base_offset")

    def gaps_at(self, first_offset: int, last_offset: int) -> pa.Table:
        """Return the gaps that overlap a range of offsets, including repaired gaps."""
        only = [
            Within("start_offset", at_most=last_offset),
            Within("next_offset", at_least=first_offset + 1),
        ]
        columns = ("topic", "start_offset", "next_offset", "cause")
        return self._read(GAPS, columns, only)

    def quarantined(self, broker_id: int | None) -> Quarantined:
        """Return what is in quarantine of the partition, in one pass over its rows.

        Args:
            broker_id: the broker whose unresolved batches are returned by their places.
        """
        columns = (
            *("topic", "broker_id", "segment", "position", "resolution", "generation"),
            *("defect_code", "last_offset", "expected_crc", "length_bytes"),
        )
        rows = self._read(QUARANTINE, columns, []).to_pylist()
        found = [row for row in rows if row["broker_id"] == broker_id]
        found.sort(key=lambda row: (row["generation"] or 0, row["resolution"] is not None))
        newest = {(row["segment"], row["position"]): row["resolution"] for row in found}
        return Quarantined(
            frozenset(place for place, resolution in newest.items() if resolution is None),
            frozenset(
                (row["last_offset"], row["expected_crc"], row["length_bytes"])
                for row in rows
                if row["defect_code"] == DefectCode.REPLICA_CONFLICT
            ),
        )

    def _read(self, table: Table, columns: Sequence[str], only: Sequence[Within]) -> pa.Table:
        """Return the partition's rows of a table that meet the conditions."""
        schema = pa.schema([table.schema.field(name) for name in columns])
        found = [schema.empty_table()]
        number = self.partition.key.partition
        conditions = [Within("partition", number, number), *only]
        for file in self.files[table.name]:
            if file.may_hold(conditions):
                place = _PLACES.get(table.name)
                found += self._rows_of(file.path, schema, conditions, place)
        return pa.concat_tables(found)

    def _rows_of(
        self, path: str, schema: pa.Schema, only: Sequence[Within], place: str | None
    ) -> Iterator[pa.Table]:
        columns = schema.names
        generation = [] if place is None else ["generation"]
        for rows in read_rows(self.storage, path, [*_KEY_COLUMNS, *columns, *generation], only):
            source_id, key = self.partition
            belongs = is_one_of(rows, "source_id", [source_id])
            ids = [key.topic_id, *([None] if self.has_null_id else [])]
            belongs &= is_one_of(rows, "topic_id", ids)
            if "topic" in columns:
                belongs &= is_one_of(rows, "topic", [key.topic])
            if place is not None:
                offsets, generations = numbers(rows, place), numbers(rows, "generation")
                belongs &= self.ledger.are_current(offsets, generations)
                # Ignore rows that were committed after the ledger was read.
                belongs &= generations <= self.ledger.newest_generation
            kept = rows if belongs.all() else rows.filter(pa.array(belongs))
            yield kept.select([*columns]).cast(schema)
