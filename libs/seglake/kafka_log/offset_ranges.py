"""Half-open ranges of offsets."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import takewhile

OffsetRange = tuple[int, int]


def merged(ranges: Iterable[OffsetRange], *, joins_touching: bool = True) -> list[OffsetRange]:
    """Sort ranges, join overlapping ones, and omit empty ones.

    Args:
        ranges: half-open ranges in any order.
        joins_touching: whether to also join adjacent ranges.

    >>> merged([(5, 9), (0, 3), (3, 5), (20, 20)])
    [(0, 9)]
    >>> merged([(0, 3), (3, 5)], joins_touching=False)
    [(0, 3), (3, 5)]
    """
    result: list[OffsetRange] = []
    for start, stop in sorted(ranges):
        if result and (start < result[-1][1] or (joins_touching and start == result[-1][1])):
            result[-1] = (result[-1][0], max(stop, result[-1][1]))
        elif start < stop:
            result.append((start, stop))
    return result


def subtracted(requested: OffsetRange, covered: Iterable[OffsetRange]) -> list[OffsetRange]:
    """Return the parts of a range outside the covered ranges; `covered` must be merged.

    >>> subtracted((0, 10), [(2, 4), (8, 12)])
    [(0, 2), (4, 8)]
    """
    start, stop = requested
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


def subtracted_near(requested: OffsetRange, covered: Sequence[OffsetRange]) -> list[OffsetRange]:
    """Return the parts of a range outside the covered ranges, found by binary search.

    Args:
        requested: the half-open range.
        covered: merged ranges.
    """
    first = bisect_right(covered, requested[0], key=lambda found: found[1])
    return subtracted(requested, takewhile(lambda found: found[0] < requested[1], covered[first:]))


def without(ranges: Iterable[OffsetRange], *removed: OffsetRange) -> list[OffsetRange]:
    """Return the parts of ranges outside the removed ranges, which must be merged.

    >>> without([(0, 10), (20, 30)], (5, 22))
    [(0, 5), (22, 30)]
    """
    return [rest for offsets in ranges for rest in subtracted(offsets, removed)]


def common(ranges: Iterable[OffsetRange], limits: OffsetRange) -> list[OffsetRange]:
    """Return the nonempty parts of ranges inside the limits.

    >>> common([(0, 10), (20, 30)], (5, 22))
    [(5, 10), (20, 22)]
    """
    cut = ((max(start, limits[0]), min(stop, limits[1])) for start, stop in ranges)
    return [(start, stop) for start, stop in cut if start < stop]


def common_ranges(ones: Sequence[OffsetRange], others: Sequence[OffsetRange]) -> list[OffsetRange]:
    """Return the intersections of two lists of sorted, disjoint ranges.

    >>> common_ranges([(0, 10), (20, 30)], [(5, 21), (29, 40)])
    [(5, 10), (20, 21), (29, 30)]
    """
    found: list[OffsetRange] = []
    one, other = 0, 0
    while one < len(ones) and other < len(others):
        start = max(ones[one][0], others[other][0])
        stop = min(ones[one][1], others[other][1])
        if start < stop:
            found.append((start, stop))
        if ones[one][1] <= others[other][1]:
            one += 1
        else:
            other += 1
    return found
