"""Names partitions and offset ranges for a person: the worst first, the others counted. Pure."""

from collections.abc import Callable, Mapping

from seglake.kafka_log.gap_ranges import GapRanges
from seglake.progress.run_reporter import show_count

_MOST_NAMED = 3

GapsByPartition = Mapping[str, GapRanges]


def named_counts(counts: Mapping[str, int]) -> str:
    """Return the names of the partitions with the highest counts."""
    return _worst(counts, lambda name: f"{name} ({counts[name]})")


def named_gaps(found: GapsByPartition) -> str:
    """Return the names of the partitions with most missing offsets, with ranges."""
    return _worst(
        {name: gaps.offsets for name, gaps in found.items()},
        lambda name: f"{name} {_where(found[name])}",
    )


def shown_range(start: int, stop: int) -> str:
    """Return a half-open range of offsets as text."""
    return f"[{start}, {stop})"


def _worst(sizes: Mapping[str, int], shown: Callable[[str], str]) -> str:
    worst = sorted(sizes, key=lambda name: (-sizes[name], name))
    more = f" and {len(worst) - _MOST_NAMED} more" if len(worst) > _MOST_NAMED else ""
    return ", ".join(shown(name) for name in worst[:_MOST_NAMED]) + more


def _where(found: GapRanges) -> str:
    if not found.ranges:  # gaps that the log cleaner left are only counted
        return f"({show_count(found.gaps, 'gap')})"
    largest = max(found.ranges, key=lambda offsets: offsets[1] - offsets[0])
    if len(found.ranges) == 1:
        return shown_range(*largest)
    return f"({len(found.ranges)} ranges, the largest {shown_range(*largest)})"
