"""What a replay did, for a person and for a machine. Pure."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from seglake.errors import ExitCode
from seglake.pipelines.progress import show_count
from seglake.pipelines.segment_ingest.repair.repair import RepairResult

_MOST_NAMED = 3


@dataclass(slots=True)
class ReplaySummary:
    """What a replay brought, and what is left.

    Attributes:
        planned_gaps, planned_offsets: what a dry run would fill, and the offsets of that.
        left_spans: quarantined spans that nothing resolves yet, by defect code.
        left_offsets: offsets of gaps that still stand, by cause; not those the cleaner took.
        left_partitions: the same by partition.
        contradicted: transactions that earlier runs took otherwise than what came now says.
    """

    run_id: str
    lake: str
    is_dry_run: bool = False
    planned_gaps: int = 0
    planned_offsets: int = 0
    repaired_gaps: int = 0
    repaired_records: int = 0
    left_spans: dict[str, int] = field(default_factory=dict)
    left_offsets: dict[str, int] = field(default_factory=dict)
    left_partitions: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    contradicted: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        return ExitCode.LOOK if self.left_out or self.contradicted else ExitCode.DONE

    def add(self, *searches: RepairResult) -> None:
        """Count what searches for the gaps of one source brought, or would bring."""
        for found in searches:
            self.planned_gaps += found.planned_gaps
            self.planned_offsets += found.planned_offsets
            self.repaired_gaps += len(found.results)
            self.repaired_records += sum(result.totals.records for result in found.results)
            self.left_out |= found.unread
            self.contradicted += found.contradicted
        self.notes += dict.fromkeys(note for found in searches for note in found.notes)

    def add_left(self, spans: Mapping[str, int], offsets: Mapping[tuple[str, str], int]) -> None:
        """Count what is left: spans by defect code, offsets by partition and cause."""
        for code, count in spans.items():
            self.left_spans[code] = self.left_spans.get(code, 0) + count
        for (partition, cause), count in offsets.items():
            self.left_offsets[cause] = self.left_offsets.get(cause, 0) + count
            self.left_partitions[partition] = self.left_partitions.get(partition, 0) + count

    def to_json(self) -> str:
        """One line."""
        return json.dumps({**asdict(self), "exit_code": self.exit_code}, sort_keys=True)

    def to_text(self) -> str:
        """A few lines, the most important first."""
        lines = [f"{self._headline()} ({self.seconds:.1f} s)"]
        still = "" if self.is_dry_run else "still "
        spans = ", ".join(f"{count} {code}" for code, count in sorted(self.left_spans.items()))
        if spans:
            lines.append(f"{still}quarantined: {spans}")
        offsets = ", ".join(f"{count} {why}" for why, count in sorted(self.left_offsets.items()))
        if offsets:
            lines.append(f"offsets that are {still}not there: {offsets}{self._most_left()}")
        lines += [f"left out: {reason}" for reason in self.left_out.values()]
        lines += [f"contradicted: {text}" for text in self.contradicted]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _headline(self) -> str:
        if self.is_dry_run:
            return (
                f"dry run: {show_count(self.planned_offsets, 'offset')} in "
                f"{show_count(self.planned_gaps, 'gap')} would be filled in; nothing was committed"
            )
        if not self.repaired_gaps:
            return "nothing could be filled in"
        return (
            f"{show_count(self.repaired_records, 'record')} came into "
            f"{show_count(self.repaired_gaps, 'gap')}"
        )

    def _most_left(self) -> str:
        most = sorted(self.left_partitions.items(), key=lambda item: (-item[1], item[0]))
        names = ", ".join(f"{name} ({count})" for name, count in most[:_MOST_NAMED])
        more = f" and {len(most) - _MOST_NAMED} more" if len(most) > _MOST_NAMED else ""
        return f", in {names}{more}"
