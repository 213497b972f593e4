"""Lines that the summaries of several commands share. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence

from seglake.log_tables.ledger_layers import FILLS, INGESTED
from seglake.pipelines.offset_places import named_counts
from seglake.pipelines.progress import show_bytes, show_count
from seglake.pipelines.segment_ingest.committing.concurrent_ranges import ConcurrentRange
from seglake.pipelines.segment_ingest.repair.repair_candidates import PlannedFill
from seglake.pipelines.segment_ingest.report.planned_ranges import PlannedRange

_MOST_LINES = 20
_MOST_PLANNED = 10


def shown_doubt(text: str, *, is_left_out: bool, is_dry_run: bool) -> str:
    """Return a line on records ingested or left out, or to be so, with an unknown outcome."""
    if is_left_out:
        return f"{text}, and its records {'would be' if is_dry_run else 'are'} left out: look at it"
    said = "would be ingested" if is_dry_run else "was ingested"
    return f"{text}, and {said} as that: look at it"


def shown_damage(
    defects: Mapping[str, int],
    damaged: Mapping[str, int],
    size_bytes: int,
    too_large: Sequence[str],
    mended: Mapping[str, int],
) -> list[str]:
    """Return the line on quarantined bytes by defect code and partition, with the remedy.

    Args:
        mended: quarantined spans whose offsets the same run filled, by partition.
    """
    if not damaged:
        return []
    codes = ", ".join(f"{count} {code}" for code, count in sorted(defects.items()))
    line = f"quarantined: {codes} ({show_bytes(size_bytes)}) in {named_counts(damaged)}"
    filled, count = sum(mended.values()), sum(damaged.values())
    if filled:
        which = "all of it" if filled == count else f"{filled} of {count}"
        line += f"; another copy filled {which}: nothing to replay there, but look at the disk"
    return [line, *listed("too large", too_large)]


def shown_plan(
    label: str, planned: Sequence[PlannedRange | PlannedFill], *, is_verbose: bool
) -> list[str]:
    """Return the lines on a dry run's plan: the first, or all."""
    most = len(planned) if is_verbose else _MOST_PLANNED
    return listed(label, planned, most, "with -v or --json")


def shown_concurrent(ranges: Sequence[ConcurrentRange]) -> list[str]:
    """Return a line on ranges that other runs ingested first, and one on those they filled."""
    ingested = [range_ for range_ in ranges if range_.kind in INGESTED]
    filled = [range_ for range_ in ranges if range_.kind in FILLS]
    lines = []
    if ingested:
        lines.append(f"a concurrent run ingested: {_counted(ingested)}")
    if filled:
        lines.append(f"a concurrent run filled: {_counted(filled)}")
    return lines


def _counted(ranges: Sequence[ConcurrentRange]) -> str:
    by_partition: Counter[str] = Counter()
    for range_ in ranges:
        by_partition[range_.partition] += range_.next_offset - range_.start_offset
    offsets = show_count(by_partition.total(), "offset")
    runs = ", ".join(dict.fromkeys(range_.run_id for range_ in ranges))
    return f"{offsets} in {named_counts(by_partition)} (run id {runs})"


def listed(
    label: str, lines: Sequence[object], most: int = _MOST_LINES, where: str = "with --json"
) -> list[str]:
    """Return the lines under a label, of many only the first."""
    shown = [f"{label}: {line}" for line in lines[:most]]
    if len(lines) > most:
        shown.append(f"{label}: … and {len(lines) - most} more (all of them {where})")
    return shown
