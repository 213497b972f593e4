"""The ledger of one partition: ingested offsets, and their fate in elections. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.leader_epochs import OPEN_END, LeaderEpochs
from seglake.kafka_log.offset_ranges import OffsetRange, merged
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
    """End of a partition's ingested ranges.

    Attributes:
        last_batch: the current batch with the highest offset; None if only gaps were ingested.
        has_topic_id: the ledger has the topic id there; else it was unknown.
    """

    next_offset: int
    last_batch: LastBatch | None
    has_topic_id: bool


@dataclass(frozen=True)
class PartitionLedger:
    """The ledger's rows of one partition.

    Attributes:
        rows: rows by generation.
        owns_unnamed: table rows without a topic id belong to this partition.
    """

    key: PartitionKey
    rows: Sequence[Row] = ()
    owns_unnamed: bool = False

    @classmethod
    def covering(cls, key: PartitionKey, ranges: Iterable[OffsetRange]) -> Self:
        """Return a ledger that covers these ranges, of runs that saw no transaction end."""
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
        """Return the covered ranges, with superseded ones, merged and in order."""
        return merged([*self._layers.current, *self._layers.superseded])

    @property
    def current(self) -> Sequence[OffsetRange]:
        """Return the ranges whose rows have lost no election, merged and in order."""
        return self._layers.current

    @property
    def superseded(self) -> Sequence[OffsetRange]:
        """Return the ranges whose rows all lost an election and wait for a retake."""
        return self._layers.superseded

    @cached_property
    def winning_epoch(self) -> int | None:
        """Return the newest leader epoch that won an election against ingested rows."""
        epochs = [row["leader_epoch"] for row in self._elections]
        return max((epoch for epoch in epochs if epoch is not None), default=None)

    @cached_property
    def frontier(self) -> Frontier | None:
        """Return the end of the ingested ranges; None if there are none."""
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

    def owns(self, row: Row) -> bool:
        """Return whether a row of a table belongs to this partition; its topic may be left out."""
        topic, partition, topic_id = self.key
        is_named = row["topic_id"] == topic_id or (row["topic_id"] is None and self.owns_unnamed)
        return is_named and row["partition"] == partition and row.get("topic", topic) == topic

    def is_current(self, offset: int, generation: int) -> bool:
        """Return whether a generation's row at an offset has lost no election."""
        return not any(
            row["start_offset"] <= offset < row["next_offset"] and generation < row["generation"]
            for row in self._elections
        )

    def are_current(
        self, offsets: NDArray[np.int64], generations: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return for each of many rows whether it has lost no election."""
        result = np.ones(len(offsets), np.bool_)
        for row in self._elections:
            is_inside = (offsets >= row["start_offset"]) & (offsets < row["next_offset"])
            result &= ~(is_inside & (generations < row["generation"]))
        return result

    def counts_until(self, offset: int, generation: int) -> int:
        """Return the end of the offsets for which a generation's bytes at an offset are current."""
        starts = (
            row["start_offset"]
            for row in self._elections
            if offset < row["next_offset"] and generation < row["generation"]
        )
        return min(starts, default=OPEN_END)

    def won_from(self, epoch: int) -> int:
        """Return the first offset where leaders newer than an epoch replaced ingested rows."""
        starts = (
            row["start_offset"]
            for row in self._elections
            if row["leader_epoch"] is not None and epoch < row["leader_epoch"]
        )
        return min(starts, default=OPEN_END)

    def stable_up_to(self, offset: int) -> int | None:
        """Return the last stable offset seen by the newest run that ingested up to an offset."""
        reaching = [row for row in self._ingested if row["next_offset"] >= offset]
        rows = [
            row
            for row in reaching
            if row["next_offset"] == offset and self.is_current(offset - 1, row["generation"])
        ]
        if not rows:
            # An election cut what a run ingested: open transactions are searched from the start.
            is_cut = any(row["start_offset"] < offset for row in reaching)
            return 0 if is_cut else None
        found: int | None = rows[-1]["last_stable_offset"]
        return found

    def same_log_until(self, leader_epochs: LeaderEpochs, log_end_offset: int) -> int:
        """Return the exclusive offset up to which a copy with these epochs has the ingested log.

        Args:
            leader_epochs: the copy's epochs.
            log_end_offset: proved end of the copy's log; an older copy may just not know later
                epochs.
        """
        limit = OPEN_END
        for row in self._current_batches:
            epoch, offset = row["leader_epoch"], row["last_batch_base_offset"]
            known = None if epoch is None else leader_epochs.epoch_at(offset)
            if known is None or known == epoch:
                continue
            if known > epoch:  # the ingested rows lost an election where the newer epoch began
                limit = min(limit, leader_epochs.end_of(epoch))
            elif offset < log_end_offset:
                limit = 0
        return limit

    def lost_from(self, leader_epochs: LeaderEpochs) -> int:
        """Return the first ingested offset that a copy's newer leader replaced, else OPEN_END.

        Unlike `same_log_until`, it needs no batch of that leader.
        """
        rows = (*self._elections, *self._current_batches)
        epochs = [row["leader_epoch"] for row in rows if row["leader_epoch"] is not None]
        if not epochs or max(epochs) >= leader_epochs.last_epoch:
            return OPEN_END
        return leader_epochs.end_of(max(epochs))

    def is_current_gap(self, start_offset: int, attempt_id: str) -> bool:
        """Return whether no repair and no election came after the attempt that wrote a gap.

        Args:
            start_offset: start of the gap.
            attempt_id: the attempt that wrote it.
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
        """Return for each gap of one attempt whether it is current, see `is_current_gap`."""
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
        """Return the rows of first ingests and retakes."""
        return [row for row in self.rows if row["kind"] in INGESTED]

    @cached_property
    def _elections(self) -> list[Row]:
        """Return the rows that mark offsets as lost in an election."""
        return [row for row in self.rows if row["kind"] == RangeKind.SUPERSEDED]

    @cached_property
    def _current_batches(self) -> list[Row]:
        """Return the rows whose last batch is current; in `superseded` rows, the winner's.

        Rows without a batch are left out.
        """
        return [
            row
            for row in self.rows
            if row["last_batch_base_offset"] is not None
            and self.is_current(row["last_batch_base_offset"], row["generation"])
        ]
