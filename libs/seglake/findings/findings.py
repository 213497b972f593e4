"""Findings of a command as values: facts for a person, with their places."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from seglake.errors import ExitCode
from seglake.findings.kinds import FindingKind
from seglake.kafka_log.offset_ranges import OffsetRange

_MOST_LINES = 20
_RANKS = {kind: rank for rank, kind in enumerate(FindingKind)}


# Any: the types that JSON can hold.
@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a command.

    Attributes:
        kind: kind of the finding.
        text: one sentence, which names the place.
        place: partition, topic, folder or file; empty for the whole run.
        ranges: half-open ranges of offsets of the partition; an empty range marks a place in the
            log.
        facts: the values in the text, for programs; no value is nested.
    """

    kind: FindingKind
    text: str
    place: str = ""
    ranges: tuple[OffsetRange, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        """Return the position of the kind in the catalogue; the most urgent is 0."""
        return _RANKS[self.kind]

    def __str__(self) -> str:
        """Return the text."""
        return self.text

    def to_mapping(self) -> dict[str, Any]:
        """Return the finding as a mapping, for JSON."""
        return {
            "kind": str(self.kind),
            "needs_a_look": self.kind.needs_a_look,
            "place": self.place,
            "ranges": [list(offsets) for offsets in self.ranges],
            "text": self.text,
            **self.facts,
        }


class Findings:
    """Findings of a command, the most urgent first; duplicates are kept once."""

    def __init__(self, found: Iterable[Finding] = ()) -> None:
        """Collect findings.

        Args:
            found: the first findings; more can be added.
        """
        self._by_kind: dict[FindingKind, dict[str, Finding]] = {kind: {} for kind in FindingKind}
        self.add(found)

    def __iter__(self) -> Iterator[Finding]:
        """Iterate over all findings, the most urgent first."""
        return chain.from_iterable(found.values() for found in self._by_kind.values())

    def add(self, found: Iterable[Finding]) -> None:
        """Add findings to the command's findings."""
        for each in found:
            self._by_kind[each.kind].setdefault(each.text, each)

    def add_texts(self, kind: FindingKind, texts: Iterable[str]) -> None:
        """Add a finding of one kind for each text; these findings have no place."""
        self.add(Finding(kind, text) for text in texts)

    def add_reasons(self, kind: FindingKind, reasons: Mapping[str, str]) -> None:
        """Add a finding of one kind for each place, with its text."""
        self.add(Finding(kind, text, place) for place, text in reasons.items())

    def of(self, *kinds: FindingKind) -> list[Finding]:
        """Return the findings of these kinds, the most urgent first."""
        return [found for kind in kinds for found in self._by_kind[kind].values()]

    def texts(self, kind: FindingKind) -> list[str]:
        """Return the texts of all findings of a kind."""
        return [*self._by_kind[kind]]

    def reasons(self, kind: FindingKind) -> dict[str, str]:
        """Return the texts of all findings of a kind, by their places."""
        return {found.place: found.text for found in self.of(kind)}

    @property
    def exit_code(self) -> ExitCode:
        """Return 3 if a person should look at a finding, else 0."""
        is_look = any(kind.needs_a_look for kind, found in self._by_kind.items() if found)
        return ExitCode.LOOK if is_look else ExitCode.DONE

    def lines(self, kinds: Iterable[FindingKind] = FindingKind) -> list[str]:
        """Return the findings as labelled lines of a summary, at most 20 of each kind."""
        return [line for kind in kinds if kind.label for line in listed(kind.label, self.of(kind))]

    def to_mapping(self) -> dict[str, Any]:
        """Return all findings for JSON, and their number by kind."""
        counts = {str(kind): len(found) for kind, found in self._by_kind.items() if found}
        found = [each.to_mapping() for each in self]
        return {"findings": found, "findings_by_kind": counts}


class WithFindings:
    """Base class of summaries, with values derived from their findings."""

    __slots__ = ()
    findings: Findings

    @property
    def exit_code(self) -> int:
        """Return 0, or 3 if a person should look at a finding."""
        return self.findings.exit_code

    @property
    def left_out(self) -> dict[str, str]:
        """Return why partitions, topics or folders were left out, by their names."""
        return self.findings.reasons(FindingKind.LEFT_OUT)

    @property
    def notes(self) -> list[str]:
        """Return the texts of the notes: findings that need no action."""
        return self.findings.texts(FindingKind.NOTE)


def listed(
    label: str, lines: Sequence[object], most: int = _MOST_LINES, where: str = "with --json"
) -> list[str]:
    """Return the first lines, each with a label, and a line that counts the remaining ones.

    Args:
        label: text before each line.
        lines: values whose texts are shown.
        most: number of lines that are shown.
        where: place that has all lines, for the last line.
    """
    shown = [f"{label}: {line}" for line in lines[:most]]
    if len(lines) > most:
        shown.append(f"{label}: … and {len(lines) - most} more (all of them {where})")
    return shown
