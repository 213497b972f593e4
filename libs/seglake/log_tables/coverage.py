"""Ranges that earlier runs ingested, from the ledger."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.leader_epochs import OPEN_END, LeaderEpochs
from seglake.kafka_log.offset_ranges import OffsetRange, merged
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.segment_survey import LastBatch
from seglake.log_tables.ledger_layers import (
    ENDS_GAPS,
    FILLS,
    INGESTED,
    RangeKind,
    is_superseded,
    layers_of,
)

_Rows = dict[tuple[str, int], list[Mapping[str, Any]]]  # by topic and partition


class Frontier(NamedTuple):
    """End of a partition's ingested ranges."""

    next_offset: int
    last_batch: LastBatch | None  # with the highest offset; None when the ledger has only gaps
    has_topic_id: bool  # the ledger names the topic's id there; else it was not known then


class Coverage:
    """The ledger's rows of one source, ready to be asked.

    Rows without a topic id belong to the first id that is known for their topic.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._rows: _Rows = {}
        self._superseding: _Rows = {}  # some of them: there are few, and much asks for them
        self._isolations: dict[str, str] = {}
        self._topic_ids: dict[str, list[str]] = {}
        for row in sorted(rows, key=lambda row: row["generation"]):
            place = row["topic"], row["partition"]
            self._rows.setdefault(place, []).append(row)
            if row["kind"] == RangeKind.SUPERSEDED:
                self._superseding.setdefault(place, []).append(row)
            self._isolations.setdefault(row["topic"], row["isolation"])
            if row["topic_id"] is not None:
                self._topic_ids.setdefault(row["topic"], []).append(row["topic_id"])

    @classmethod
    def of(cls, ranges: Iterable[tuple[PartitionKey, OffsetRange]]) -> Self:
        """Return a ledger that has these ranges, of runs that saw no transaction end."""
        return cls(
            {
                "topic": key.topic,
                "partition": key.partition,
                "topic_id": key.topic_id,
                "kind": RangeKind.INGEST,
                "start_offset": start,
                "next_offset": stop,
                "generation": 1,
                "isolation": "",
                "leader_epoch": None,
                "last_batch_base_offset": None,
                "last_stable_offset": 0,
                "log_end_offset": OPEN_END,
                "high_watermark": None,
                "upper_bound": "log_end",
            }
            for key, (start, stop) in ranges
            if start < stop
        )

    def isolation(self, topic: str) -> str | None:
        """Return the isolation with which the topic was first ingested."""
        return self._isolations.get(topic)

    def topics(self) -> list[str]:
        """Return the topics of which something was ingested, sorted."""
        return sorted(self._isolations)

    def partitions(self) -> set[PartitionKey]:
        """Return the partitions of which something was ingested."""
        return {
            self.joined_key(PartitionKey(topic, partition, row["topic_id"]))
            for (topic, partition), rows in self._rows.items()
            for row in rows
        }

    def adopt(self, topic: str, topic_id: str) -> None:
        """Give rows that name no id the first one that is known for their topic."""
        self._topic_ids.setdefault(topic, [topic_id])

    def latest_topic_id(self, topic: str, partition: int) -> str | None:
        """Return the topic id of the partition's newest row that has one, else of the topic's."""
        rows = self._rows.get((topic, partition), [])
        named = [row["topic_id"] for row in rows if row["topic_id"] is not None]
        ids = named or self._topic_ids.get(topic, [])
        return ids[-1] if ids else None

    def ranges(self, key: PartitionKey) -> list[OffsetRange]:
        """Return a partition's covered ranges, also superseded ones, merged and in order."""
        layers = layers_of(self._rows_of(key))
        return merged([*layers.current, *layers.superseded])

    def current_ranges(self, key: PartitionKey) -> list[OffsetRange]:
        """Return the ranges whose rows have lost no election."""
        return layers_of(self._rows_of(key)).current

    def superseded_ranges(self, key: PartitionKey) -> list[OffsetRange]:
        """Return the ranges whose rows all lost an election and wait for a retake."""
        return layers_of(self._rows_of(key)).superseded if self._elections(key) else []

    def is_current(self, key: PartitionKey, offset: int, generation: int) -> bool:
        """Return whether no election went against what a generation brought at an offset."""
        return not is_superseded(self._elections(key), offset, generation)

    def are_current(
        self, key: PartitionKey, offsets: NDArray[np.int64], generations: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return for each of many rows whether it has lost no election."""
        result = np.ones(len(offsets), np.bool_)
        for row in self._elections(key):
            is_inside = (offsets >= row["start_offset"]) & (offsets < row["next_offset"])
            result &= ~(is_inside & (generations < row["generation"]))
        return result

    def counts_until(self, key: PartitionKey, offset: int, generation: int) -> int:
        """Return the end of the offsets for which a generation's bytes at an offset count."""
        starts = (
            row["start_offset"]
            for row in self._elections(key)
            if offset < row["next_offset"] and generation < row["generation"]
        )
        return min(starts, default=OPEN_END)

    def won_from(self, key: PartitionKey, epoch: int) -> int:
        """Return the offset from which leaders newer than an epoch won against ingested rows."""
        starts = (
            row["start_offset"]
            for row in self._elections(key)
            if row["leader_epoch"] is not None and epoch < row["leader_epoch"]
        )
        return min(starts, default=OPEN_END)

    def winning_epoch(self, key: PartitionKey) -> int | None:
        """Return the newest leader epoch that won an election against ingested rows."""
        epochs = [row["leader_epoch"] for row in self._elections(key)]
        return max((epoch for epoch in epochs if epoch is not None), default=None)

    def frontier(self, key: PartitionKey) -> Frontier | None:
        """Return the end of a partition's ingested ranges; None if there are none."""
        rows = self._ingested(key)
        if not rows:
            return None
        covered = self.ranges(key)
        next_offset = covered[-1][1] if covered else max(row["next_offset"] for row in rows)
        with_batch = [
            row
            for row in self._rows_of(key)
            if row["kind"] not in FILLS and self._has_current_batch(key, row)
        ]
        if not with_batch:
            return Frontier(next_offset, None, any(row["topic_id"] is not None for row in rows))
        last = max(with_batch, key=lambda row: row["last_batch_base_offset"])
        batch = LastBatch(
            last["last_batch_base_offset"], last["last_batch_crc"], last["leader_epoch"]
        )
        return Frontier(next_offset, batch, last["topic_id"] is not None)

    def stable_up_to(self, key: PartitionKey, offset: int) -> int | None:
        """Return the last stable offset seen by the newest run that ingested up to an offset."""
        met = [row for row in self._ingested(key) if row["next_offset"] >= offset]
        rows = [
            row
            for row in met
            if row["next_offset"] == offset and self.is_current(key, offset - 1, row["generation"])
        ]
        if not rows:
            # An election cut what a run took: what was open there is looked for from the start.
            is_cut = any(row["start_offset"] < offset for row in met)
            return 0 if is_cut else None
        found: int | None = rows[-1]["last_stable_offset"]
        return found

    def joined_key(self, key: PartitionKey) -> PartitionKey:
        """Return the key with the topic id that rows without one belong to: the topic's first."""
        ids = self._topic_ids.get(key.topic)
        return key._replace(topic_id=ids[0]) if key.topic_id is None and ids else key

    def key_of(self, row: Mapping[str, Any], topic: str) -> PartitionKey:
        """Return the key of a table's row, with the id that it belongs to."""
        return self.joined_key(PartitionKey(topic, row["partition"], row["topic_id"]))

    def same_log_until(
        self, key: PartitionKey, leader_epochs: LeaderEpochs, log_end_offset: int
    ) -> int:
        """Return the exclusive offset up to which a copy with these epochs has the ingested log.

        Args:
            log_end_offset: the copy's log reaches at least so far; an older one may just not know
                of the epochs behind it.
        """
        limit = OPEN_END
        for row in self._rows_of(key):
            if not self._has_current_batch(key, row):
                continue
            epoch, offset = row["leader_epoch"], row["last_batch_base_offset"]
            known = None if epoch is None else leader_epochs.epoch_at(offset)
            if known is None or known == epoch:
                continue
            if known > epoch:  # what was ingested lost an election, where the newer epoch began
                limit = min(limit, leader_epochs.end_of(epoch))
            elif offset < log_end_offset:
                limit = 0
        return limit

    def lost_from(self, key: PartitionKey, leader_epochs: LeaderEpochs) -> int:
        """Return the first ingested offset that a copy's newer leader replaced, else OPEN_END.

        Unlike `same_log_until` it needs no batch of that leader.
        """
        epochs = [
            row["leader_epoch"]
            for row in self._rows_of(key)
            if row["leader_epoch"] is not None
            and (row["kind"] == RangeKind.SUPERSEDED or self._has_current_batch(key, row))
        ]
        if not epochs or max(epochs) >= leader_epochs.last_epoch:
            return OPEN_END
        return leader_epochs.end_of(max(epochs))

    def is_current_gap(self, key: PartitionKey, start_offset: int, attempt_id: str) -> bool:
        """Whether nothing came after the attempt that wrote a gap which starts there: no repair,
        and no election against it."""
        written, repaired = 0, 0
        for row in self._rows_of(key):
            if row["start_offset"] <= start_offset < row["next_offset"]:
                if row["attempt_id"] == attempt_id:
                    written = row["generation"]
                if row["kind"] in ENDS_GAPS:
                    repaired = row["generation"]
        return repaired <= written

    def are_current_gaps(
        self, key: PartitionKey, starts: NDArray[np.int64], attempt_id: str
    ) -> NDArray[np.bool_]:
        """Return for each gap of one attempt whether it is current, see `is_current_gap`."""
        written, ended = np.zeros((2, len(starts)), np.int64)
        for row in self._rows_of(key):
            is_inside = (starts >= row["start_offset"]) & (starts < row["next_offset"])
            if row["attempt_id"] == attempt_id:
                written[is_inside] = row["generation"]
            if row["kind"] in ENDS_GAPS:
                ended[is_inside] = row["generation"]
        return ended <= written

    def _ingested(self, key: PartitionKey) -> list[Mapping[str, Any]]:
        """Return the rows of what was ingested, for the first time or anew."""
        return [row for row in self._rows_of(key) if row["kind"] in INGESTED]

    def _has_current_batch(self, key: PartitionKey, row: Mapping[str, Any]) -> bool:
        """Return whether a row belongs to the current log; a superseding row, to the winner's."""
        offset = row["last_batch_base_offset"]
        return offset is not None and self.is_current(key, offset, row["generation"])

    def _elections(self, key: PartitionKey) -> list[Mapping[str, Any]]:
        """Return the rows that say which offsets lost an election."""
        return self._of_log(self._superseding, key)

    def _rows_of(self, key: PartitionKey) -> list[Mapping[str, Any]]:
        return self._of_log(self._rows, key)

    def _of_log(self, rows: _Rows, key: PartitionKey) -> list[Mapping[str, Any]]:
        ids = self._topic_ids.get(key.topic)
        first_id = ids[0] if ids else key.topic_id
        return [
            row
            for row in rows.get((key.topic, key.partition), [])
            if (row["topic_id"] or first_id) == key.topic_id
        ]


def with_known_id(replica: Replica, coverage: Coverage) -> Replica:
    """Return the copy with the topic id that the ledger knows, where its folder has none."""
    if replica.key.topic_id is not None:
        return replica
    known = coverage.latest_topic_id(replica.key.topic, replica.key.partition)
    return replace(replica, key=replica.key._replace(topic_id=known), takes_id_of_lake=True)
