"""The note on records that a run did not ingest because an erasure rule matches them."""

from collections.abc import Iterable

from seglake.findings.shown_offsets import named_counts
from seglake.ingest_steps.committing.range_result import RangeResult, counts_by_name
from seglake.printable import show_count


def erased_notes(results: Iterable[RangeResult]) -> list[str]:
    """Return a note on records that erasure rules kept out of the lake; empty without any."""
    left_out = counts_by_name(results, lambda result: result.erased.records)
    if not left_out:
        return []
    records = show_count(sum(left_out.values()), "record")
    return [
        f"{records} not ingested, because an erasure rule matches them: {named_counts(left_out)}"
    ]
