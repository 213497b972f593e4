"""Lines of a summary on salvaged records."""

from seglake.findings.shown_offsets import named_counts
from seglake.ingest_steps.repair.salvaged import Salvaged
from seglake.printable import show_count
from seglake.settings.settings import Settings


def shown_salvaged(salvaged: Salvaged) -> list[str]:
    """Return lines on salvaged records; empty if there was nothing to salvage."""
    lines = []
    if salvaged.batches:
        records = show_count(sum(salvaged.records.values()), "record")
        lines.append(
            f"salvaged: {records} of {_batches(sum(salvaged.batches.values()))} in "
            f"{named_counts(salvaged.records)}; they are in salvaged_records (the column damage "
            "says what may be wrong), not in records"
        )
    if planned := salvaged.planned_batches:
        lines.append(
            f"would be decoded from quarantine: {_batches(sum(planned.values()))} in "
            f"{named_counts(planned)}, into salvaged_records; a dry run cannot count their records"
        )
    if salvaged.refused:
        reasons = ", ".join(f"{count} {code}" for code, count in sorted(salvaged.refused.items()))
        batches = _batches(sum(salvaged.refused.values()))
        lines.append(f"not salvaged: {batches} with a broken structure ({reasons})")
    if salvaged.cut_batches:
        lines.append(
            f"not salvaged: {_batches(salvaged.cut_batches)} kept only in part: raise "
            "quarantine.max_raw_bytes and ingest again (damaged batches into a new lake)"
        )
    return lines


def shown_nothing_salvaged(salvaged: Salvaged, settings: Settings) -> list[str]:
    """Return lines for a run that should salvage but found nothing to decode."""
    if salvaged != Salvaged():
        return []
    lines = []
    if settings.read.salvage:
        lines.append(
            "nothing to salvage: each batch with a wrong checksum, if quarantine has any, is"
            " repaired or in salvaged_records already"
        )
    if settings.salvages_losing_tails:
        lines.append(
            "no losing tails: quarantine has no batches of losing replicas, or all of them are in"
            " salvaged_records already"
        )
    return lines


def _batches(count: int) -> str:
    return show_count(count, "quarantined batch", "quarantined batches")
