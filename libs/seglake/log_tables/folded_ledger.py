"""Folds a ledger to the rows that a run needs, without redundant rows. Pure.

Each run that ingests a growing log adds a row, and the ranges of these rows touch. In such a chain,
the rows between the first and the last few only tell that their offsets are covered. So they are
left out, and the row after them begins where the first one ends.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, cast

from seglake.kafka_log.offset_ranges import OffsetRange, common
from seglake.log_tables.ledger_layers import RangeKind

Row = dict[str, Any]  # Any: the ledger's columns have many types

# A lost election cuts the end of a log; then the last batches before the cut are needed.
_KEPT_AT_END = 3
_LOG = ("source_id", "topic", "partition")
_ALIKE = ("topic_id", "isolation", "leader_epoch")


def folded(rows: Iterable[Row]) -> list[Row]:
    """Return rows that answer every question to a `SourceLedger` like all rows do.

    One answer is more cautious: the last stable offset at an offset inside a chain. No run ingests
    from such an offset, unless an election cut the chain there.

    Args:
        rows: rows of any sources, in any order; folded ones may be among them.
    """
    found: list[Row] = []
    ordered = sorted(rows, key=lambda row: (*_values(row, _LOG), *_range(row)))
    for _, group in groupby(ordered, key=lambda row: _values(row, _LOG)):
        found += _folded_log([*group])
    return found


def _folded_log(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the folded rows of one partition, given by offset."""
    others = [_range(row) for row in rows if row["kind"] != RangeKind.INGEST]
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
    """Return whether a range was ingested with a batch, and no other row touches its offsets."""
    return (
        row["kind"] == RangeKind.INGEST
        and row["last_batch_base_offset"] is not None
        and not common(others, _range(row))
    )


def _continues(row: Row, following: Row) -> bool:
    """Return whether a row continues a chain; rising generations keep a topic's first id first."""
    return (
        row["next_offset"] == following["start_offset"]
        and row["generation"] <= following["generation"]
        and _values(row, _ALIKE) == _values(following, _ALIKE)
    )


def _ends(chain: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows of a chain that are kept."""
    if len(chain) <= _KEPT_AT_END + 1:
        yield from chain
        return
    first, kept, *last = chain[0], *chain[-_KEPT_AT_END:]
    yield first
    yield kept | {"start_offset": first["next_offset"]}
    yield from last


def _range(row: Row) -> OffsetRange:
    """Return the offset range of a row."""
    return cast("OffsetRange", (row["start_offset"], row["next_offset"]))


# Any: the ledger's columns have many types.
def _values(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    """Return some values of a row."""
    return tuple(row[name] for name in names)
