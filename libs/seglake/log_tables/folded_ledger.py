"""Shortens a ledger to the rows that a run needs.

Each run that ingests a growing log adds a row, which begins where the previous row ends. A run
needs only the first row and the last few rows of such a chain. The rows between are omitted. To
leave no gap, the next kept row is extended to begin where the first row ends.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, cast

from seglake.kafka_log.offset_ranges import OffsetRange, common
from seglake.log_tables.ledger_layers import REMOVALS, RangeKind

Row = dict[str, Any]  # Any: the ledger's columns have many types

# If ingested rows lose an election, the last batches below the divergence are needed.
_KEPT_AT_END = 3
# Kinds of rows that removals do not affect: they cover the same offsets as before.
_APART = (RangeKind.INGEST, *REMOVALS)
_LOG = ("source_id", "topic", "partition")
_ALIKE = ("topic_id", "isolation", "leader_epoch")


def folded(rows: Iterable[Row]) -> list[Row]:
    """Return fewer rows that give a `SourceLedger` the same answers to a run's questions.

    There is one exception: `stable_up_to` may return a lower offset for an offset inside a chain. A
    run begins at such an offset only after a lost election.

    Args:
        rows: rows of any sources, in any order; some may be folded already.
    """
    found: list[Row] = []
    ordered = sorted(rows, key=lambda row: (*_values(row, _LOG), *_range(row)))
    for _, group in groupby(ordered, key=lambda row: _values(row, _LOG)):
        found += _folded_log([*group])
    return found


def _folded_log(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the folded rows of one partition; `rows` are sorted by offset."""
    others = [_range(row) for row in rows if row["kind"] not in _APART]
    chain: list[Row] = []
    for row in rows:
        if not _is_plain(row, others):
            yield row
            continue
        if chain and not _continues(chain[-1], row):
            yield from _ends(chain)
            chain = []
        chain.append(row)
    yield from _ends(chain)


def _is_plain(row: Row, others: Iterable[OffsetRange]) -> bool:
    """Return whether a row is an ingest with batches that no row of another kind overlaps."""
    return (
        row["kind"] == RangeKind.INGEST
        and row["last_batch_base_offset"] is not None
        and not common(others, _range(row))
    )


def _continues(row: Row, following: Row) -> bool:
    """Return whether `following` begins where a row ends, in the same or a later commit."""
    return (
        row["next_offset"] == following["start_offset"]
        and row["generation"] <= following["generation"]
        and _values(row, _ALIKE) == _values(following, _ALIKE)
    )


def _ends(chain: Sequence[Row]) -> Iterator[Row]:
    """Yield a chain's first row and its last rows, extended so that no offset is omitted."""
    if len(chain) <= _KEPT_AT_END + 1:
        yield from chain
        return
    first, kept, *last = chain[0], *chain[-_KEPT_AT_END:]
    yield first
    yield kept | {"start_offset": first["next_offset"]}
    yield from last


def _range(row: Row) -> OffsetRange:
    """Return the offset range of a ledger row."""
    return cast("OffsetRange", (row["start_offset"], row["next_offset"]))


# Any: the ledger's columns have many types.
def _values(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    """Return the values of some columns of a ledger row."""
    return tuple(row[name] for name in names)
