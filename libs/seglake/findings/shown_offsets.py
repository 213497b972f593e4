"""Texts that name a few partitions or offset ranges, and count the remaining ones."""

from collections.abc import Callable, Mapping, Sequence

from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.printable import show_count

_MOST_NAMED = 3

GapsByPartition = Mapping[str, GapRanges]


def named_counts(counts: Mapping[str, int]) -> str:
    """Return the partitions with the highest counts as text, each with its count."""
    return _worst(counts, lambda name: f"{name} ({counts[name]})")


def named_gaps(found: GapsByPartition) -> str:
    """Return the partitions with the most missing offsets as text, each with its ranges."""
    return _worst(
        {name: gaps.offsets for name, gaps in found.items()},
        lambda name: f"{name} {_where(found[name])}",
    )


def shown_range(start: int, stop: int) -> str:
    """Return a half-open range of offsets as text."""
    return f"[{start}, {stop})"


def shown_ranges(ranges: Sequence[OffsetRange], most: int | None = None) -> str:
    """Return half-open ranges of offsets as text.

    Args:
        ranges: the ranges, in the order of the text.
        most: number of ranges to show; the remaining ones are counted. None shows all.
    """
    shown = ", ".join(shown_range(*offsets) for offsets in ranges[:most])
    rest = 0 if most is None else len(ranges) - most
    more = show_count(rest, "more range")
    return f"{shown} and {more}" if rest > 0 else shown


def named(names: Sequence[str], shown: Callable[[str], str] = str) -> str:
    """Return the first few names and the number of the remaining ones, as text.

    Args:
        names: the names, in the order of the text.
        shown: function that returns the text of a name.
    """
    rest = len(names) - _MOST_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(map(shown, names[:_MOST_NAMED])) + more


def _worst(sizes: Mapping[str, int], shown: Callable[[str], str]) -> str:
    return named(sorted(sizes, key=lambda name: (-sizes[name], name)), shown)


def _where(found: GapRanges) -> str:
    if not found.ranges:  # gaps left by the log cleaner are counted but not listed
        return f"({show_count(found.gaps, 'gap')})"
    largest = max(found.ranges, key=lambda offsets: offsets[1] - offsets[0])
    if len(found.ranges) == 1:
        return shown_range(*largest)
    return f"({len(found.ranges)} ranges, the largest {shown_range(*largest)})"
