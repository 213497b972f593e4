"""Removes the rows of erased records before they are written.

Rows of `records` and of the tables of internal topics are removed; their offsets become gaps. If
damaged bytes decode to an erased record, their row of `quarantine` is written without bytes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.transaction_markers import TransactionState
from seglake.lake.parquet_rows import numbers
from seglake.lake.removed_sums import RemovedSums
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS
from seglake.log_tables.erasure_rules import TopicRules
from seglake.log_tables.quarantine_rows import RowStamp, gap_row
from seglake.log_tables.record_rows import Origin, UnitRows, record_rows, shared_of
from seglake.segment_codec.formats.errors import DefectCode, DefectError
from seglake.segment_codec.walk.salvage import whole_batch
from seglake.segment_decoding.decoded_rows import DecodedRows, Row
from seglake.segment_decoding.row_filter import is_valid, payload_bytes_of, some_rows
from seglake.segment_decoding.split_counts import exact_sum
from seglake.segment_decoding.split_decoder import SplitDecoder
from seglake.segment_decoding.tasks import DecodeSettings, PartitionSplit, SplitReport

_MOST_GAPS = 8192  # gap rows in memory at a time
_COLUMN = {name: index for index, name in enumerate(QUARANTINE.schema.names)}


class RuledBatches(NamedTuple):
    """Erasure rules of a partition's topic, applied to the bytes of batches.

    Attributes:
        most_bytes: highest accepted size of an uncompressed batch.
    """

    rules: TopicRules
    key: PartitionKey
    most_bytes: int

    @classmethod
    def of(cls, key: PartitionKey, settings: DecodeSettings) -> "RuledBatches | None":
        """Return the erasure rules of a partition's topic; None if it has none."""
        rules = settings.rules.get(key.topic)
        if rules is None:
            return None
        return cls(rules, key, settings.max_decompressed_batch_bytes)

    def hold(self, raw: bytes, inner_offset: int | None = None) -> bool | None:
        """Return whether a batch has an erased record; None if it cannot be decoded.

        Args:
            raw: the bytes of the batch, which may be damaged.
            inner_offset: offset of a message inside a compressed set; None for a whole batch.
        """
        try:
            rows = batch_rows(raw, Origin("", self.key, "", 0), self.most_bytes, inner_offset)
        except DefectError:
            return None
        return bool(self.rules.match(rows).any())


def batch_rows(
    raw: bytes, origin: Origin, most_bytes: int, inner_offset: int | None = None
) -> pa.RecordBatch:
    """Decode the bytes of a batch to rows of `records`, without checking its checksum.

    Args:
        raw: the bytes.
        origin: values of all rows.
        most_bytes: highest accepted size of the uncompressed batch.
        inner_offset: offset of a message inside a compressed set; None for a whole batch.

    Raises:
        DefectError: the batch cannot be decoded to its end.
    """
    whole = whole_batch(raw, most_bytes, inner_offset=inner_offset)
    unit = UnitRows(
        len(whole.columns.offsets), whole.timestamp_type, TransactionState.NONE, whole.base_offset
    )
    return record_rows(whole.columns, shared_of([unit]), origin)[0]


def erased_spans(offsets: NDArray[np.int64], batches: NDArray[np.int64]) -> list[OffsetRange]:
    """Return sorted ranges of erased offsets; adjacent offsets of a batch are one range.

    No range crosses the edge of a batch, since retention removes whole batches and ranges.

    Args:
        offsets: offsets in any order.
        batches: base offset of the batch of each offset.
    """
    sorted_offsets, indexes = np.unique(offsets, return_index=True)
    is_break = (np.diff(sorted_offsets) > 1) | (np.diff(batches[indexes]) != 0)
    pieces = np.split(sorted_offsets, np.flatnonzero(is_break) + 1)
    return [(int(piece[0]), int(piece[-1]) + 1) for piece in pieces if len(piece)]


class ErasedRows:
    """Filter that removes erased records from a split's rows.

    Attributes:
        count: sums over the removed records.
    """

    @classmethod
    def of(cls, split: PartitionSplit, settings: DecodeSettings) -> "ErasedRows | None":
        """Return the filter of a split; None if its topic has no erasure rules."""
        ruled = RuledBatches.of(split.key, settings)
        stamp = RowStamp(settings.source_id, settings.run_id, settings.attempt_id)
        return None if ruled is None else cls(ruled, stamp)

    def __init__(self, ruled: RuledBatches, stamp: RowStamp) -> None:
        """Store the erasure rules of the topic, and the values that all rows of `gaps` share."""
        self._ruled = ruled
        self._stamp = stamp
        self._offsets: list[NDArray[np.int64]] = []
        self._batches: list[NDArray[np.int64]] = []
        self.count = RemovedSums()

    def kept(self, found: DecodedRows) -> DecodedRows | None:
        """Return the rows without erased records; None if none is left.

        Rows of an internal topic's table must follow the rows of `records` that they come from.
        """
        rows = found.rows
        if found.table is RECORDS and isinstance(rows, pa.RecordBatch):
            return self._but(found, self.match(rows))
        if found.table is QUARANTINE and not isinstance(rows, pa.RecordBatch):
            return found._replace(rows=[without_erased(row, self._ruled) for row in rows])
        if isinstance(rows, pa.RecordBatch) and found.table is not BATCHES and self._offsets:
            is_erased = np.isin(numbers(rows, "record_offset"), self._offsets[-1])
            if "snapshot" in rows.schema.names:  # offsets in a snapshot file
                is_erased &= ~is_valid(rows, "snapshot")
            return self._but(found, is_erased)
        return found

    def gap_rows(self) -> Iterator[DecodedRows]:
        """Yield the gaps of all removed records."""
        nothing = np.zeros(0, np.int64)
        offsets, batches = (np.concatenate([nothing, *e]) for e in (self._offsets, self._batches))
        spans = erased_spans(offsets, batches)
        for first in range(0, len(spans), _MOST_GAPS):
            some = spans[first : first + _MOST_GAPS]
            key, cause = self._ruled.key, GapCause.ERASED
            rows = [gap_row(key, *span, cause, None, self._stamp) for span in some]
            yield DecodedRows(GAPS, rows)

    def match(self, rows: pa.RecordBatch) -> NDArray[np.bool_]:
        """Return which rows of `records` a rule erases, and count them."""
        is_erased = self._ruled.rules.match(rows)
        erased = some_rows(rows, is_erased) if is_erased.any() else rows.slice(0, 0)
        offsets = numbers(erased, "offset")
        self._offsets.append(offsets)
        self._batches.append(numbers(erased, "batch_base_offset"))
        if len(offsets):
            sizes = (payload_bytes_of(erased, name) for name in ("key", "value"))
            self.count = self.count.plus(RemovedSums(len(offsets), exact_sum(offsets), *sizes))
        return is_erased

    def _but(self, found: DecodedRows, is_erased: NDArray[np.bool_]) -> DecodedRows | None:
        """Return the rows that are not erased; None if none is left."""
        if not is_erased.any():
            return found
        if is_erased.all() or not isinstance(found.rows, pa.RecordBatch):
            return None
        return found._replace(rows=some_rows(found.rows, ~is_erased))


class ErasingDecoder:
    """Decoder of a split with erasure rules; iterate over `rows` once, then call `report`."""

    def __init__(self, decoder: SplitDecoder, erased: ErasedRows) -> None:
        """Store the arguments; nothing is read yet."""
        self._decoder = decoder
        self._erased = erased

    def rows(self) -> Iterator[DecodedRows]:
        """Yield the rows that are not erased, then the gaps; see `SplitDecoder.rows` for errors."""
        for found in self._decoder.rows():
            kept = self._erased.kept(found)
            if kept is not None:
                yield kept
        yield from self._erased.gap_rows()

    def report(self) -> SplitReport:
        """Return the report; call it after the last of `rows`."""
        return self._decoder.report()._replace(erased=self._erased.count)


def without_erased(row: Row, ruled: RuledBatches) -> Row:
    """Return a row of `quarantine`, without its bytes if they decode to an erased record.

    The hash of the bytes stays: it identifies the damage.
    """
    raw, code = row[_COLUMN["raw"]], row[_COLUMN["defect_code"]]
    inner = row[_COLUMN["base_offset"]] if code == DefectCode.INNER_CRC_MISMATCH else None
    if not raw or not ruled.hold(raw, inner):
        return row
    values = [*row]
    values[_COLUMN["raw"]], values[_COLUMN["raw_is_complete"]] = None, False
    return tuple(values)
