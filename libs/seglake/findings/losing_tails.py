"""Counts and texts of losing tails: quarantined batches of replicas that lost an election."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from seglake.findings.advised_commands import replay_losing_tails
from seglake.findings.shown_offsets import named_gaps, shown_ranges
from seglake.findings.worded_kinds import WordedKind
from seglake.grouping import grouped
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.offset_ranges import OffsetRange, merged
from seglake.printable import show_count
from seglake.segment_codec.formats.errors import DefectCode

TAIL_COLUMNS = (
    *("defect_code", "defect_detail", "base_offset", "last_offset"),
    *("record_count", "expected_crc", "length_bytes"),
)
"""Columns of `quarantine` that `tails_of` reads."""

# A winner's batches are no losing tail, because a retake ingests them.
_WON = "won an election"


class LosingTailKind(WordedKind):
    """Reasons, in words, why valid batches of a replica are not in the log."""

    LOST = ("lost_election", "that lost an election")
    DIFFERS = ("replicas_differ", "of replicas that differ")

    @classmethod
    def of(cls, detail: str) -> "LosingTailKind | None":
        """Return the kind of a batch from its `defect_detail`; None if its replica won."""
        if _WON in detail:
            return None
        return cls.LOST if " lost an election" in detail else cls.DIFFERS


class LosingTail(NamedTuple):
    """Batches of one kind and partition; a batch that several replicas have counts once.

    Attributes:
        batches: number of batches.
        records: sum of the batch headers' counts; None if a header has no count.
        ranges: offsets of the batches, merged and in order; the ingested log has other batches or
            none at these offsets.
    """

    batches: int
    records: int | None
    ranges: tuple[OffsetRange, ...]

    @classmethod
    def of(cls, batches: Sequence[tuple[int, int, int | None]]) -> "LosingTail":
        """Return the sums of batches, each given as (first offset, last offset, record count)."""
        counts = [count for _, _, count in batches]
        known = [count for count in counts if count is not None]
        ranges = merged((first, last + 1) for first, last, _ in batches)
        records = sum(known) if len(known) == len(counts) else None
        return cls(len(batches), records, tuple(ranges))

    @property
    def offsets(self) -> int:
        """Return the number of offsets of the losing tail."""
        return sum(stop - start for start, stop in self.ranges)

    @property
    def gaps(self) -> GapRanges:
        """Return the losing tail's ranges in the form that `named_gaps` shows."""
        return GapRanges.of(self.ranges)


TailsOfPartition = Mapping[LosingTailKind, LosingTail]
TailsByKind = Mapping[LosingTailKind, Mapping[str, LosingTail]]


def tails_of(rows: Iterable[Mapping[str, Any]]) -> dict[LosingTailKind, LosingTail]:
    """Return a partition's losing tails by kind, from its rows of `quarantine`.

    Args:
        rows: rows with TAIL_COLUMNS.
    """
    found: dict[LosingTailKind, dict[tuple[int, int, int], tuple[int, int, int | None]]] = {}
    for row in rows:
        if row["defect_code"] != DefectCode.REPLICA_CONFLICT:
            continue
        kind, last = LosingTailKind.of(row["defect_detail"] or ""), row["last_offset"]
        first = row["base_offset"]
        if kind is not None and first is not None and last is not None:
            batch = (last, row["expected_crc"], row["length_bytes"])
            found.setdefault(kind, {})[batch] = (first, last, row["record_count"])
    return {
        kind: LosingTail.of([*found[kind].values()]) for kind in LosingTailKind if kind in found
    }


def tails_of_batches(rows: Iterable[Mapping[str, Any]]) -> dict[LosingTailKind, LosingTail]:
    """Add up a partition's losing tails from its batches, each given once with its kind."""
    found = grouped(
        (row["kind"], (row["base_offset"], row["last_offset"], row["record_count"])) for row in rows
    )
    return {kind: LosingTail.of(found[kind]) for kind in LosingTailKind if kind in found}


def shown_tails(tails: TailsByKind) -> list[str]:
    """Return one text for each kind of losing tails, with the number of records, for a headline."""
    lines = []
    for kind, found in tails.items():
        count = _counted(found)
        verb = "is" if count.startswith("1 ") else "are"
        lines.append(f"{count} {kind.words} {verb} in quarantine, not in records")
    return lines


def tail_lines(tails: TailsByKind, lake: str) -> list[str]:
    """Return lines with the places of losing tails, and the command that decodes them."""
    lines = [
        f"in quarantine, not in records: {_counted(found, with_offsets=True)} {kind.words} in "
        f"{named_gaps({name: tail.gaps for name, tail in found.items()})}"
        for kind, found in tails.items()
    ]
    command = f"`{replay_losing_tails(lake)}` decodes those that salvaged_records lacks"
    return [*lines[:-1], f"{lines[-1]}; {command}"] if lines else []


def shown_tail(tail: LosingTail) -> str:
    """Return one partition's losing tail as text, with all ranges."""
    places = shown_ranges(tail.ranges)
    return f"{_counted({'': tail}, with_offsets=True)} in quarantine, not in records: {places}"


def tails_mapping(tails: TailsByKind) -> dict[str, Any]:
    """Return losing tails as a mapping, for JSON."""
    return {
        str(kind): {
            name: {
                "batches": tail.batches,
                "records": tail.records,
                "offsets": tail.offsets,
                "ranges": [[*offsets] for offsets in tail.ranges],
            }
            for name, tail in sorted(found.items())
        }
        for kind, found in tails.items()
    }


def _counted(found: Mapping[str, LosingTail], *, with_offsets: bool = False) -> str:
    """Return the number of records as text; the number of offsets if a header has no count."""
    offsets = show_count(sum(tail.offsets for tail in found.values()), "offset")
    counts = [tail.records for tail in found.values()]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return offsets
    records = show_count(sum(known), "record")
    return f"{records} at {offsets}" if with_offsets else records
