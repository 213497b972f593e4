"""Lines that the summaries of several commands share."""

from collections.abc import Mapping, Sequence

from seglake.findings.findings import listed
from seglake.findings.shown_offsets import named_counts
from seglake.ingest_steps.repair.repair_result import PlannedFill
from seglake.ingest_steps.report.planned_ranges import PlannedRange
from seglake.printable import show_bytes

_MOST_PLANNED = 10


def shown_damage(
    defects: Mapping[str, int],
    damaged: Mapping[str, int],
    size_bytes: int,
    mended: Mapping[str, int],
) -> list[str]:
    """Return the line on quarantined bytes by defect code and partition, with the remedy.

    Args:
        defects: number of quarantined spans by defect code.
        damaged: number of quarantined spans by partition.
        size_bytes: number of quarantined bytes.
        mended: number of spans whose offsets the same run filled, by partition.
    """
    if not damaged:
        return []
    codes = ", ".join(f"{count} {code}" for code, count in sorted(defects.items()))
    line = f"quarantined: {codes} ({show_bytes(size_bytes)}) in {named_counts(damaged)}"
    filled, count = sum(mended.values()), sum(damaged.values())
    if filled:
        which = "all of it" if filled == count else f"{filled} of {count}"
        line += f"; another copy filled {which}, so no replay is needed, but check the disk"
    return [line]


def shown_plan(
    label: str, planned: Sequence[PlannedRange | PlannedFill], *, is_verbose: bool
) -> list[str]:
    """Return the lines on a dry run's plan: the first ten, or all if verbose."""
    most = len(planned) if is_verbose else _MOST_PLANNED
    return listed(label, planned, most, "with -v or --json")
