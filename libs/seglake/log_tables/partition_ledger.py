"""Ledger of one partition: its ingested offsets, and those that lost an election."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.leader_epochs import OPEN_END, LeaderEpochs
from seglake.kafka_log.offset_ranges import OffsetRange, merged, without
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.segment_survey import LastBatch
from seglake.log_tables.ledger_layers import (
    ENDS_GAPS,
    FILLS,
    INGESTED,
    Layers,
    RangeKind,
    layers_of,
)

Row = Mapping[str, Any]  # Any: the ledger's columns have many types


class Frontier(NamedTuple):
    """End of a partition's ingested offsets.

    Attributes:
        last_batch: the current batch with the highest offset; None if there are only gaps.
        has_topic_id: whether the last ledger row has a topic id.
    """

    next_offset: int
    last_batch: LastBatch | None
    has_topic_id: bool


@dataclass(frozen=True)
class PartitionLedger:
    """The ledger's rows of one partition.

    Attributes:
        rows: rows in the order of commits.
        owns_unnamed: whether table rows without a topic id belong to this partition.
    """

    key: PartitionKey
    rows: Sequence[Row] = ()
    owns_unnamed: bool = False

    @classmethod
    def covering(cls, key: PartitionKey, ranges: Iterable[OffsetRange]) -> Self:
        """Make a ledger that covers these ranges, without a known last stable offset."""
        rows = [
            {
                "topic_id": key.topic_id,
                "kind": RangeKind.INGEST,
                "start_offset": start,
                "next_offset": stop,
                "generation": 1,
                "leader_epoch": None,
                "last_batch_base_offset": None,
                "last_stable_offset": 0,
            }
            for start, stop in ranges
            if start < stop
        ]
        return cls(key, rows)

    @cached_property
    def covered(self) -> Sequence[OffsetRange]:
        """Return the covered ranges, including superseded ones, merged and sorted."""
        return merged([*self._layers.current, *self._layers.superseded])

    @property
    def current(self) -> Sequence[OffsetRange]:
        """Return the ranges whose rows have not lost an election, merged and sorted."""
        return self._layers.current

    @property
    def replaceable(self) -> Sequence[OffsetRange]:
        """Return the current ranges without expired offsets, merged and sorted."""
        return without(self.current, (0, self.expired_to))

    @property
    def superseded(self) -> Sequence[OffsetRange]:
        """Return the ranges whose rows lost an election and are not retaken, merged and sorted."""
        return self._layers.superseded

    @cached_property
    def winning_epoch(self) -> int | None:
        """Return the newest leader epoch that replaced ingested rows; None if unknown."""
        epochs = [row["leader_epoch"] for row in self._elections]
        return max((epoch for epoch in epochs if epoch is not None), default=None)

    @cached_property
    def frontier(self) -> Frontier | None:
        """Return the end of the ingested offsets; None if there are none."""
        rows = self._ingested
        if not rows:
            return None
        next_offset = self.covered[-1][1] if self.covered else max(r["next_offset"] for r in rows)
        with_batch = [row for row in self._current_batches if row["kind"] not in FILLS]
        if not with_batch:
            return Frontier(next_offset, None, any(row["topic_id"] is not None for row in rows))
        last = max(with_batch, key=lambda row: row["last_batch_base_offset"])
        batch = LastBatch(
            last["last_batch_base_offset"], last["last_batch_crc"], last["leader_epoch"]
        )
        return Frontier(next_offset, batch, last["topic_id"] is not None)

    @cached_property
    def expired_to(self) -> int:
        """Return the offset below which retention removed all rows; 0 if it removed none."""
        stops = (row["next_offset"] for row in self.rows if row["kind"] == RangeKind.EXPIRED)
        return max(stops, default=0)

    def owns(self, row: Row) -> bool:
        """Return whether a table's row, perhaps without column `topic`, is of this partition."""
        topic, partition, topic_id = self.key
        is_named = row["topic_id"] == topic_id or (row["topic_id"] is None and self.owns_unnamed)
        return is_named and row["partition"] == partition and row.get("topic", topic) == topic

    def is_current(self, offset: int, generation: int) -> bool:
        """Return whether a row has neither lost an election nor expired.

        Args:
            offset: offset of the row.
            generation: commit that added the row.
        """
        return offset >= self.expired_to and self._has_won(offset, generation)

    def _has_won(self, offset: int, generation: int) -> bool:
        """Return whether a row at an offset, with its generation, has not lost an election."""
        return not any(
            row["start_offset"] <= offset < row["next_offset"] and generation < row["generation"]
            for row in self._elections
        )

    def are_current(
        self, offsets: NDArray[np.int64], generations: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return, for each offset with its generation, whether the row is current."""
        result = offsets >= self.expired_to
        for row in self._elections:
            is_inside = (offsets >= row["start_offset"]) & (offsets < row["next_offset"])
            result &= ~(is_inside & (generations < row["generation"]))
        return result

    def counts_until(self, offset: int, generation: int) -> int:
        """Return the exclusive end of the current rows that follow `offset`.

        All these rows have the same generation (commit).
        """
        starts = (
            row["start_offset"]
            for row in self._elections
            if offset < row["next_offset"] and generation < row["generation"]
        )
        return min(starts, default=OPEN_END)

    def won_from(self, epoch: int) -> int:
        """Return the first offset that lost to an epoch above `epoch`; OPEN_END if none did."""
        starts = (
            row["start_offset"]
            for row in self._elections
            if row["leader_epoch"] is not None and epoch < row["leader_epoch"]
        )
        return min(starts, default=OPEN_END)

    def stable_up_to(self, offset: int) -> int | None:
        """Return the last stable offset that the newest run up to `offset` recorded."""
        reaching = [row for row in self._ingested if row["next_offset"] >= offset]
        rows = [
            row
            for row in reaching
            if row["next_offset"] == offset and self._has_won(offset - 1, row["generation"])
        ]
        if not rows:
            # After an election removed ingested rows, the search for open transactions starts at
            # offset 0.
            is_cut = any(row["start_offset"] < offset for row in reaching)
            return 0 if is_cut else None
        found: int | None = rows[-1]["last_stable_offset"]
        return found

    def same_log_until(self, leader_epochs: LeaderEpochs, log_end_offset: int) -> int:
        """Return the exclusive end of the part of the log that a copy shares with the lake.

        Args:
            leader_epochs: the copy's leader epochs.
            log_end_offset: end of the copy's log; above it, the copy may lack newer epochs.
        """
        limit = OPEN_END
        for row in self._current_batches:
            epoch, offset = row["leader_epoch"], row["last_batch_base_offset"]
            known = None if epoch is None else leader_epochs.epoch_at(offset)
            if known is None or known == epoch:
                continue
            if known > epoch:  # a copy with this epoch lost at the newer epoch's start
                limit = min(limit, leader_epochs.end_of(epoch))
            elif offset < log_end_offset:
                limit = 0
        return limit

    def lost_from(self, leader_epochs: LeaderEpochs) -> int:
        """Return the first offset that a newer epoch of a copy replaced; OPEN_END if there is none.

        Unlike `same_log_until`, this includes epochs without batches.
        """
        rows = (*self._elections, *self._current_batches)
        epochs = [row["leader_epoch"] for row in rows if row["leader_epoch"] is not None]
        if not epochs or max(epochs) >= leader_epochs.last_epoch:
            return OPEN_END
        return leader_epochs.end_of(max(epochs))

    def is_current_gap(self, start_offset: int, attempt_id: str) -> bool:
        """Return whether a gap is neither resolved nor superseded by a later commit.

        Args:
            start_offset: first offset of the gap.
            attempt_id: id of the commit attempt that recorded the gap.
        """
        written, repaired = 0, 0
        for row in self.rows:
            if row["start_offset"] <= start_offset < row["next_offset"]:
                if row["attempt_id"] == attempt_id:
                    written = row["generation"]
                if row["kind"] in ENDS_GAPS:
                    repaired = row["generation"]
        return repaired <= written

    def are_current_gaps(self, starts: NDArray[np.int64], attempt_id: str) -> NDArray[np.bool_]:
        """Return for each gap of a commit whether it is current; see `is_current_gap`."""
        written, ended = np.zeros((2, len(starts)), np.int64)
        for row in self.rows:
            is_inside = (starts >= row["start_offset"]) & (starts < row["next_offset"])
            if row["attempt_id"] == attempt_id:
                written[is_inside] = row["generation"]
            if row["kind"] in ENDS_GAPS:
                ended[is_inside] = row["generation"]
        return ended <= written

    @cached_property
    def _layers(self) -> Layers:
        """Return the current and the superseded ranges."""
        return layers_of(self.rows)

    @cached_property
    def _ingested(self) -> list[Row]:
        """Return the rows of kinds `ingest` and `retake`."""
        return [row for row in self.rows if row["kind"] in INGESTED]

    @cached_property
    def _elections(self) -> list[Row]:
        """Return the rows of kind `superseded`."""
        return [row for row in self.rows if row["kind"] == RangeKind.SUPERSEDED]

    @cached_property
    def _current_batches(self) -> list[Row]:
        """Return the ledger rows whose last batch is current.

        The last batch of a `superseded` row belongs to the winning log.
        """
        return [
            row
            for row in self.rows
            if row["last_batch_base_offset"] is not None
            and self._has_won(row["last_batch_base_offset"], row["generation"])
        ]
