"""Half-open ranges of offsets. Pure."""

from collections.abc import Iterable

OffsetRange = tuple[int, int]


def merged(ranges: Iterable[OffsetRange], *, joins_touching: bool = True) -> list[OffsetRange]:
    """Half-open ranges in order, those that share an offset made one, and those that touch unless
    `joins_touching` is False; empty ones are left out."""
    result: list[OffsetRange] = []
    for start, stop in sorted(ranges):
        if result and (start < result[-1][1] or (joins_touching and start == result[-1][1])):
            result[-1] = (result[-1][0], max(stop, result[-1][1]))
        elif start < stop:
            result.append((start, stop))
    return result


def subtracted(wanted: OffsetRange, covered: Iterable[OffsetRange]) -> list[OffsetRange]:
    """Return the parts of a range that no covered range holds; `covered` is merged."""
    start, stop = wanted
    rest: list[OffsetRange] = []
    for covered_start, covered_stop in covered:
        if covered_stop <= start or covered_start >= stop:
            continue
        if covered_start > start:
            rest.append((start, covered_start))
        start = covered_stop
    if start < stop:
        rest.append((start, stop))
    return rest


def without(ranges: Iterable[OffsetRange], *removed: OffsetRange) -> list[OffsetRange]:
    """The ranges as far as none that are removed, which are merged, holds them."""
    return [rest for offsets in ranges for rest in subtracted(offsets, removed)]


def common(ranges: Iterable[OffsetRange], limits: OffsetRange) -> list[OffsetRange]:
    """The ranges as far as they lie in another one; empty ones are left out."""
    cut = ((max(start, limits[0]), min(stop, limits[1])) for start, stop in ranges)
    return [(start, stop) for start, stop in cut if start < stop]
