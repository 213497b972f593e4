"""The rows of a ledger that a run asks for, without those that tell it nothing. Pure.

Runs that ingest a growing log leave a row each, and the ranges of these rows touch. Between the
first of them and the last few, nothing of such a chain is asked for but that its offsets are
covered: so the rows there are left out, and the next one begins where the first ends.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, cast

from seglake.kafka_log.offset_ranges import OffsetRange, common
from seglake.log_tables.ledger_layers import RangeKind

Row = dict[str, Any]  # Any: the ledger's columns have many types

# An election goes against the end of a log: what it cut is asked for the batches before it.
_KEPT_AT_END = 3
_LOG = ("source_id", "topic", "partition")
_ALIKE = ("topic_id", "isolation", "leader_epoch")


def folded(rows: Iterable[Row]) -> list[Row]:
    """The rows that answer every question to a `SourceLedger` as all of them do.

    One answer is more careful: how a run saw a log that took a range up to an offset inside of a
    chain. Nobody ingests from there on, unless an election cut the chain there.

    Args:
        rows: of any sources, in any order; what was folded may be among them.
    """
    found: list[Row] = []
    ordered = sorted(rows, key=lambda row: (*_values(row, _LOG), *_range(row)))
    for _, group in groupby(ordered, key=lambda row: _values(row, _LOG)):
        found += _folded_log([*group])
    return found


def _folded_log(rows: Sequence[Row]) -> Iterator[Row]:
    """The same of one partition's, in the order of their offsets."""
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
    """Whether it was ingested with a batch, and nothing else happened to its offsets."""
    return (
        row["kind"] == RangeKind.INGEST
        and row["last_batch_base_offset"] is not None
        and not common(others, _range(row))
    )


def _continues(row: Row, following: Row) -> bool:
    """The order of generations is kept too: the first id of a topic is that of the least."""
    return (
        row["next_offset"] == following["start_offset"]
        and row["generation"] <= following["generation"]
        and _values(row, _ALIKE) == _values(following, _ALIKE)
    )


def _ends(chain: Sequence[Row]) -> Iterator[Row]:
    if len(chain) <= _KEPT_AT_END + 1:
        yield from chain
        return
    first, kept, *last = chain[0], *chain[-_KEPT_AT_END:]
    yield first
    yield kept | {"start_offset": first["next_offset"]}
    yield from last


def _range(row: Row) -> OffsetRange:
    return cast("OffsetRange", (row["start_offset"], row["next_offset"]))


# Any: as above.
def _values(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)
