"""Compares records of a disk with rows of the lake, value by value.

Both sides are tables with PAYLOAD_COLUMNS; values are compared, not hashes.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seglake.lake.parquet_rows import NULL_NUMBER, numbers
from seglake.pipelines.lake_audit.disk_check.ledger_rows import Flags, Offsets, look_up

_PLAIN_COLUMNS = ("key", "value")
PAYLOAD_COLUMNS = ("offset", *_PLAIN_COLUMNS, "timestamp_ms", "timestampType", "headers")


class Match(NamedTuple):
    """Flags of each disk record: whether the lake has its offset, and an equal payload."""

    is_there: Flags
    is_equal: Flags


def match(disk: pa.Table, lake: pa.Table) -> Match:
    """Compare records with rows of the same partition, each side in any order."""
    requested, offsets = numbers(disk, "offset"), numbers(lake, "offset")
    order = np.argsort(offsets, kind="stable")
    found, is_there = look_up(offsets[order], requested)
    is_equal = np.zeros(len(requested), np.bool_)
    is_equal[is_there] = _equal(
        disk if is_there.all() else disk.filter(pa.array(is_there)),
        _rows_at(lake, order[found[is_there]]),
    )
    return Match(is_there, is_equal)


def _rows_at(rows: pa.Table, places: Offsets) -> pa.Table:
    """Return the rows at some indexes; without copying if the indexes are consecutive, as usual."""
    if len(places) and (np.diff(places) == 1).all():
        return rows.slice(int(places[0]), len(places))
    return rows.take(places)


def _equal(one: pa.Table, other: pa.Table) -> Flags:
    """Flag the rows with equal payloads in two tables of equal length."""
    result = np.ones(one.num_rows, np.bool_)
    for name in _PLAIN_COLUMNS:
        result &= _equal_values(one.column(name), other.column(name))
    result &= _equal_times(one, other)
    return result & _equal_headers(one, other)


def _equal_times(one: pa.Table, other: pa.Table) -> Flags:
    """Flag the rows with equal times of equal type; two missing times are equal, too.

    Messages of magic 0 have neither time nor type; the log cleaner since Kafka 4.0 writes them with
    type CreateTime and time -1.
    """
    result = _equal_values(one.column("timestampType"), other.column("timestampType"))
    result &= _equal_values(one.column("timestamp_ms"), other.column("timestamp_ms"))
    # Kafka writes -1 for a missing time, seglake writes null.
    times, others = numbers(one, "timestamp_ms"), numbers(other, "timestamp_ms")
    have_none: Flags = (times == NULL_NUMBER) & (others == NULL_NUMBER)
    return result | have_none


# Any: the stubs make arrays generic in their type; a column may have any type.
def _equal_values(one: Any, other: Any) -> Flags:
    """Flag the rows with equal values; null equals only null."""
    is_same = pc.equal(one, other).fill_null(False)
    both_null = pc.and_(pc.is_null(one), pc.is_null(other))
    found: Flags = np.asarray(pc.or_(is_same, both_null))
    return found


def _equal_headers(rows: pa.Table, others: pa.Table) -> Flags:
    one: Any = rows.column("headers").combine_chunks()
    other: Any = others.column("headers").combine_chunks()
    lengths, other_lengths = pc.list_value_length(one), pc.list_value_length(other)
    result = _equal_values(lengths, other_lengths)
    counts = lengths.fill_null(0).to_numpy()
    with_headers = np.flatnonzero(result & (counts > 0))
    if not len(with_headers):
        return result
    mine = one.take(pa.array(with_headers)).flatten()
    theirs = other.take(pa.array(with_headers)).flatten()
    is_same = _equal_values(mine.field("key"), theirs.field("key"))
    is_same &= _equal_values(mine.field("value"), theirs.field("value"))
    starts = np.cumsum(counts[with_headers]) - counts[with_headers]
    result[with_headers] = np.logical_and.reduceat(is_same, starts)
    return result
