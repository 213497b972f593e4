"""What quarantine has of replicas that are not the log in the tables: sums and words. Pure."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.offset_ranges import OffsetRange, merged
from seglake.pipelines.offset_places import named_gaps
from seglake.pipelines.progress import show_count
from seglake.pipelines.worded_kinds import WordedKind
from seglake.segment_codec.errors import DefectCode

TAIL_COLUMNS = (
    *("defect_code", "defect_detail", "base_offset", "last_offset"),
    *("record_count", "expected_crc", "length_bytes"),
)
"""What `tails_of` reads of a row of `quarantine`."""

_WON = "won an election"  # a retake ingests it: recovery counts what it replaces


class TailKind(WordedKind):
    """Why sound batches of a replica are not in the log, in words."""

    LOST = ("lost_election", "that lost an election")
    DIFFERS = ("replicas_differ", "of replicas that differ")

    @classmethod
    def of(cls, detail: str) -> "TailKind | None":
        """Return the kind of a batch by its `defect_detail`; None if it won."""
        if _WON in detail:
            return None
        return cls.LOST if " lost an election" in detail else cls.DIFFERS


@dataclass(frozen=True, slots=True)
class LosingTail:
    """Batches of one kind and partition, each counted once, whichever replicas have it.

    Attributes:
        records: by the batches' headers; None if one of them does not count its records.
        ranges: offsets of the batches, merged and in order; the log has others there, or none.
    """

    batches: int
    records: int | None
    ranges: tuple[OffsetRange, ...]

    @classmethod
    def of(cls, batches: Sequence[tuple[int, int, int | None]]) -> "LosingTail":
        """Add up batches, each with first offset, last offset and record count."""
        counts = [count for _, _, count in batches]
        known = [count for count in counts if count is not None]
        ranges = merged((first, last + 1) for first, last, _ in batches)
        records = sum(known) if len(known) == len(counts) else None
        return cls(len(batches), records, tuple(ranges))

    @property
    def offsets(self) -> int:
        return sum(stop - start for start, stop in self.ranges)

    @property
    def gaps(self) -> GapRanges:
        """Return the ranges as those that lists of places name."""
        return GapRanges(len(self.ranges), self.offsets, self.ranges)


TailsOfPartition = Mapping[TailKind, LosingTail]
TailsByKind = Mapping[TailKind, Mapping[str, LosingTail]]


def tails_of(rows: Iterable[Mapping[str, Any]]) -> dict[TailKind, LosingTail]:
    """Add up the rows of `quarantine` of one partition, with TAIL_COLUMNS."""
    found: dict[TailKind, dict[tuple[int, int, int], tuple[int, int, int | None]]] = {}
    for row in rows:
        if row["defect_code"] != DefectCode.REPLICA_CONFLICT:
            continue
        kind, last = TailKind.of(row["defect_detail"] or ""), row["last_offset"]
        first = row["base_offset"]
        if kind is not None and first is not None and last is not None:
            batch = (last, row["expected_crc"], row["length_bytes"])
            found.setdefault(kind, {})[batch] = (first, last, row["record_count"])
    return {kind: LosingTail.of([*found[kind].values()]) for kind in TailKind if kind in found}


def shown_tails(tails: TailsByKind) -> list[str]:
    """Say for each kind how much of it is in quarantine alone, for a headline."""
    said = []
    for kind, found in tails.items():
        count = _counted(found)
        verb = "is" if count.startswith("1 ") else "are"
        said.append(f"{count} {kind.words} {verb} in quarantine, not in records")
    return said


def tail_lines(tails: TailsByKind, lake: str) -> list[str]:
    """Say where they lie, and which command decodes them."""
    lines = [
        f"in quarantine, not in records: {_counted(found, with_offsets=True)} {kind.words} in "
        f"{named_gaps({name: tail.gaps for name, tail in found.items()})}"
        for kind, found in tails.items()
    ]
    command = f"`{decode_command(lake)}` decodes them into salvaged_records"
    return [*lines[:-1], f"{lines[-1]}; {command}"] if lines else []


def shown_tail(tail: LosingTail) -> str:
    """Say how much there is of one partition, with all ranges."""
    places = ", ".join(f"[{start}, {stop})" for start, stop in tail.ranges)
    return f"{_counted({'': tail}, with_offsets=True)} in quarantine, not in records: {places}"


def decode_command(lake: str) -> str:
    """Return the command that decodes losing tails of a lake."""
    return shlex.join(["seglake", "replay", "--lake", lake, "--set", "read.losing_tails=rows"])


def tails_mapping(tails: TailsByKind) -> dict[str, Any]:
    """Return all of it for JSON."""
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
    """How many records, if all headers count them, else how many offsets."""
    offsets = show_count(sum(tail.offsets for tail in found.values()), "offset")
    counts = [tail.records for tail in found.values()]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return offsets
    records = show_count(sum(known), "record")
    return f"{records} at {offsets}" if with_offsets else records
