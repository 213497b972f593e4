"""Computes ledger rows and gaps for erased records."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.parquet_rows import distinct_rows, numbers
from seglake.lake.removed_sums import RemovedSums
from seglake.log_tables.ledger_layers import FILLS, INGESTED, RangeKind
from seglake.log_tables.partition_ledger import PartitionLedger, Row
from seglake.log_tables.source_ledger import SourceLedger
from seglake.segment_decoding.erased_rows import erased_spans
from seglake.segment_decoding.split_counts import exact_sum

_ADDS_ROWS = (*INGESTED, *FILLS)
_IDS = ("topic", "partition", "topic_id")


class ErasedRange(NamedTuple):
    """Range of the ledger, or its part on one side of an election, with sums of erased records.

    Attributes:
        generation: generation of the range's commit.
    """

    key: PartitionKey
    offsets: OffsetRange
    generation: int
    erased: RemovedSums


class ErasedPlaces(NamedTuple):
    """Erased records of one source and topic, for the ledger and for `gaps`.

    Attributes:
        gaps: offsets whose rows were current, as ranges inside of batches, by partition.
    """

    ranges: list[ErasedRange]
    gaps: list[tuple[PartitionKey, OffsetRange]]


def erased_places(places: pa.Table, ledger: SourceLedger) -> ErasedPlaces:
    """Return the ranges and gaps of found rows of `records` of one source and topic.

    Args:
        places: positions of the records, in columns of `found_rows.PLACE_SCHEMA`.
        ledger: the source's whole ledger.
    """
    found = ErasedPlaces([], [])
    by_key: dict[PartitionKey, list[NDArray[np.bool_]]] = {}
    for group in distinct_rows(places, _IDS):
        by_key.setdefault(ledger.key_of(group), []).append(_is_of(places, group))
    for key, masks in by_key.items():
        own = places.filter(pa.array(np.any(masks, axis=0)))
        log = ledger.of(key)
        found.ranges.extend(_ranges(own, log))
        offsets, batches = numbers(own, "offset"), numbers(own, "batch_base_offset")
        is_current = log.are_current(offsets, numbers(own, "generation"))
        spans = erased_spans(offsets[is_current], batches[is_current])
        found.gaps.extend((key, span) for span in spans)
    return found


def _is_of(places: pa.Table, group: "dict[str, object]") -> NDArray[np.bool_]:
    """Return which rows belong to one partition and topic id; the id may be null."""
    ids = np.array(places.column("topic_id").to_pylist(), object)
    found: NDArray[np.bool_] = numbers(places, "partition") == group["partition"]
    found &= ids == group["topic_id"]
    return found


def _ranges(places: pa.Table, log: PartitionLedger) -> Iterator[ErasedRange]:
    """Yield each range of the ledger that has some of the records, with their sums."""
    offsets, generations = numbers(places, "offset"), numbers(places, "generation")
    key_bytes, value_bytes = numbers(places, "key_bytes"), numbers(places, "value_bytes")
    is_free = np.ones(len(offsets), np.bool_)
    requested = set(np.unique(generations).tolist())
    rows = [r for r in log.rows if r["generation"] in requested and r["kind"] in _ADDS_ROWS]
    for row, span in sorted(_sides(rows, log), key=lambda side: side[1][1] - side[1][0]):
        mask = is_free & (generations == row["generation"])
        mask &= (offsets >= span[0]) & (offsets < span[1])
        if mask.any():
            is_free &= ~mask
            count = RemovedSums(
                int(mask.sum()),
                exact_sum(offsets[mask]),
                exact_sum(key_bytes[mask]),
                exact_sum(value_bytes[mask]),
            )
            yield ErasedRange(log.key, span, row["generation"], count)


def _sides(rows: Iterable[Row], log: PartitionLedger) -> Iterator[tuple[Row, OffsetRange]]:
    """Yield a ledger row's ranges, split where an election superseded a part of the row."""
    elections = [row for row in log.rows if row["kind"] == RangeKind.SUPERSEDED]
    for row in rows:
        start, stop = row["start_offset"], row["next_offset"]
        later = [each for each in elections if each["generation"] > row["generation"]]
        edges = {edge for each in later for edge in (each["start_offset"], each["next_offset"])}
        inside = sorted(edge for edge in edges if start < edge < stop)
        for span in pairwise([start, *inside, stop]):
            yield row, span
