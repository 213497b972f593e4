"""Narrows a read by the filters that Spark pushes down."""

from collections.abc import Iterable
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from seglake.pipelines.segment_query.read_plan import Requested


def requested_by(filters: Iterable[Filter]) -> Requested:
    """Return the smallest selection that has every row which passes all filters.

    Unknown filters are ignored. No row passes a comparison with null; Spark does not push such
    filters down.
    """
    requested = Requested()
    for pushed in filters:
        requested = _narrowed(requested, pushed)
    return requested


def _narrowed(requested: Requested, given: Filter) -> Requested:
    column, values = getattr(given, "attribute", ()), _values(given)
    if column == ("topic",) and values is not None:
        return requested.with_topics(map(str, values))
    if column == ("partition",) and values is not None:
        return requested.with_partitions(map(int, values))
    if column == ("offset",):
        return requested.with_offsets(*_bounds(given))
    return requested


def _values(given: Filter) -> list[Any] | None:
    match given:
        case EqualTo() | EqualNullSafe():
            return [given.value]
        case In():
            return [value for value in given.value if value is not None]
        case _:
            return None


def _bounds(given: Filter) -> tuple[int | None, int | None]:
    """Return the offset bounds [first, next) that may pass; None for no bound."""
    match given:
        case GreaterThan():
            return given.value + 1, None
        case GreaterThanOrEqual():
            return given.value, None
        case LessThan():
            return None, given.value
        case LessThanOrEqual():
            return None, given.value + 1
    offsets = _values(given)
    if offsets is None:
        return None, None
    return (min(offsets), max(offsets) + 1) if offsets else (0, 0)
