"""Decodes a split of an older copy, and yields only rows that the lake lacks.

A copy made before a compaction has records that the lake lacks. It is decoded as in an ingest, but
rows whose offsets are in the lake are skipped, and so are batches without new rows. Damage is
quarantined if it may hide an offset that the lake lacks and is not in `quarantine` yet.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, merged
from seglake.kafka_log.transaction_markers import TransactionState
from seglake.lake.parquet_rows import numbers
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS
from seglake.log_tables.quarantine_rows import IDENTITY
from seglake.segment_decoding.decoded_rows import DecodedRows, Row
from seglake.segment_decoding.erased_rows import ErasedRows
from seglake.segment_decoding.row_filter import is_valid, payload_bytes_of, some_rows
from seglake.segment_decoding.split_counts import exact_sum
from seglake.segment_decoding.split_decoder import SplitDecoder
from seglake.segment_decoding.tasks import (
    ByteCount,
    DecodeSettings,
    PartitionSplit,
    RequestedOffsets,
    SplitReport,
    ThinnedBatch,
    Totals,
)

_NO_TIME_MS = -1


class RefillDecoder:
    """Decoder of a split of an older copy; iterate over `rows` once, then call `report`."""

    def __init__(
        self,
        split: PartitionSplit,
        requested: RequestedOffsets,
        settings: DecodeSettings,
        erased: ErasedRows | None = None,
    ) -> None:
        """Store the arguments; nothing is read yet.

        Args:
            split: the split of the copy.
            requested: offsets that the lake lacks.
            settings: settings of the run.
            erased: filter of erased records; None if the topic has no erasure rule.
        """
        self._erased = erased
        self._decoder = SplitDecoder(split, settings)
        self._requested = requested
        self._totals = dict.fromkeys(Totals._fields, 0)
        self._size_bytes = 0
        self._open_rows = 0
        self._times_ms: list[int] = []
        self._spans: list[OffsetRange] = []
        self._thinned: list[ThinnedBatch] = []
        self._hidden: list[OffsetRange] = []
        self._damage = _Damage(split, requested)

    def rows(self) -> Iterator[DecodedRows]:
        """Yield the rows that the lake lacks; see `SplitDecoder.rows` for errors."""
        # batches without rows yet: their records are still to be decoded
        batches: pa.RecordBatch | None = None
        for found in self._decoder.rows():
            rows = found.rows
            if not isinstance(rows, pa.RecordBatch):
                if found.table is GAPS:
                    self._hidden += _hidden(rows)
                elif kept := self._damage.kept(rows):
                    yield from self._but_erased(DecodedRows(QUARANTINE, kept))
                continue
            if found.table is BATCHES:
                yield from self._batches(batches, np.zeros(0, np.bool_))
                batches = rows
            elif found.table is RECORDS:
                is_requested = self._requested.hold(numbers(rows, "offset"))
                if self._erased is not None:
                    is_requested &= ~self._erased.match(rows)
                yield from self._batches(batches, is_requested)
                batches = None
                if is_requested.any():
                    yield DecodedRows(RECORDS, self._records(rows, is_requested))
            else:  # rows of an internal topic's own table, from the log and not from a snapshot
                is_requested = self._requested.hold(numbers(rows, "record_offset"))
                if "snapshot" in rows.schema.names:
                    is_requested &= ~is_valid(rows, "snapshot")
                if is_requested.any():
                    requested = rows.filter(pa.array(is_requested))
                    yield from self._but_erased(DecodedRows(found.table, requested))
        yield from self._batches(batches, np.zeros(0, np.bool_))

    def _but_erased(self, found: DecodedRows) -> Iterator[DecodedRows]:
        """Yield the rows that no erasure rule matches, if there are any."""
        kept = found if self._erased is None else self._erased.kept(found)
        if kept is not None:
            yield kept

    def report(self) -> SplitReport:
        """Return the report; call it after the last of `rows`."""
        report, damage = self._decoder.report(), self._damage
        counted, ingested = report.bytes, self._size_bytes
        quarantined = min(damage.size_bytes, counted.quarantined)
        others = counted.total - counted.tail - ingested - quarantined
        return report._replace(
            bytes=ByteCount(
                sound=ingested,
                quarantined=quarantined,
                tail=counted.tail,
                below=others,
                kept=damage.size_bytes - quarantined,
            ),
            # All offsets of the copy, so that the run can check that none was lost.
            totals=Totals(
                **{
                    **self._totals,
                    "quarantined_batches": damage.defects.total(),
                    "offsets": report.totals.offsets,
                }
            ),
            times_ms=(min(self._times_ms), max(self._times_ms)) if self._times_ms else None,
            last_batch=None,
            defects=tuple(sorted(damage.defects.items())),
            gaps={},
            open_rows=self._open_rows,
            inner_bytes=0,
            refilled=tuple(merged(self._spans)),
            thinned=tuple(self._thinned),
            hidden=tuple(self._hidden),
        )

    def _batches(
        self, rows: pa.RecordBatch | None, is_requested: NDArray[np.bool_]
    ) -> Iterator[DecodedRows]:
        """Yield the rows of batches that have a requested record or overlap a gap.

        `is_requested` has one value for each record of the batches, in order.
        """
        if rows is None:
            return
        row_stops = np.cumsum(numbers(rows, "row_count"))
        counted = np.concatenate(([0], np.cumsum(is_requested)))
        ingested = counted[np.minimum(row_stops, len(is_requested))]
        counts = np.diff(ingested, prepend=0)
        firsts, lasts = numbers(rows, "base_offset"), numbers(rows, "last_offset")
        is_kept = (counts > 0) | self._requested.have_gaps_in(firsts, lasts)
        if not is_kept.any():
            return
        if self._requested.recorded:
            is_thinned = is_kept & (numbers(rows, "record_count") <= lasts - firsts)
            crcs = numbers(rows, "crc")
            self._thinned += [
                ThinnedBatch((int(firsts[at]), int(lasts[at]) + 1), int(crcs[at]))
                for at in np.flatnonzero(is_thinned).tolist()
            ]
        place = rows.schema.get_field_index("row_count")
        column = pa.array(counts).cast(rows.schema.field(place).type)
        kept = rows.set_column(place, rows.schema.field(place), column).filter(pa.array(is_kept))
        self._totals["batches"] += kept.num_rows
        self._size_bytes += int(numbers(kept, "size_bytes").sum())
        self._spans += zip(firsts[is_kept].tolist(), (lasts[is_kept] + 1).tolist(), strict=True)
        self._spans = merged(self._spans)
        yield DecodedRows(BATCHES, kept)

    def _records(self, rows: pa.RecordBatch, is_requested: NDArray[np.bool_]) -> pa.RecordBatch:
        """Return the requested rows of `records`, and count them."""
        kept = some_rows(rows, is_requested)
        offsets, times = numbers(kept, "offset"), numbers(kept, "timestamp_ms")
        totals = self._totals
        totals["records"] += len(offsets)
        totals["offset_sum"] += exact_sum(offsets)
        totals["key_bytes"] += payload_bytes_of(kept, "key")
        totals["value_bytes"] += payload_bytes_of(kept, "value")
        known = times[times != _NO_TIME_MS]
        self._times_ms += [int(known.min()), int(known.max())] if len(known) else []
        states = kept.column("transaction_state").to_pylist()
        self._open_rows += states.count(str(TransactionState.OPEN))
        return kept


class _Damage:
    """Counter and filter of damaged spans that may hide requested offsets."""

    def __init__(self, split: PartitionSplit, requested: RequestedOffsets) -> None:
        """Start with no damage."""
        first, last = split.segment_splits[0], split.segment_splits[-1]
        self._bounds = first.expected_offset, last.next_offset or last.limit_offset
        self._requested = requested
        self.defects: Counter[str] = Counter()
        self.size_bytes = 0

    def kept(self, rows: Iterable[Row]) -> list[Row]:
        """Return the rows of damage that may hide a requested offset and is not yet recorded."""
        found = []
        for row in rows:
            span = dict(zip(QUARANTINE.schema.names, row, strict=True))
            identity = tuple(span[name] for name in IDENTITY)
            if identity not in self._requested.recorded and self._may_hide(span):
                self.defects[str(span["defect_code"])] += 1
                self.size_bytes += span["length_bytes"]
                found.append(row)
        return found

    def _may_hide(self, span: Mapping[str, Any]) -> bool:
        """Return whether damage may hide a requested offset.

        It may hide the offsets between the valid batches around it, and the offsets in its header.
        """
        before, after = span["previous_offset"], span["next_offset"]
        start = self._bounds[0] if before is None else before + 1
        stop = self._bounds[1] if after is None else after
        if start < stop and self._requested.share(start, stop):
            return True
        base, last = span["base_offset"], span["last_offset"]
        is_known = base is not None and last is not None
        return is_known and self._requested.share(base, last + 1)


def _hidden(gaps: Iterable[Row]) -> Iterator[OffsetRange]:
    """Yield the ranges of gaps with the cause QUARANTINED."""
    for row in gaps:
        gap = dict(zip(GAPS.schema.names, row, strict=True))
        if gap["cause"] == GapCause.QUARANTINED:
            yield gap["start_offset"], gap["next_offset"]
