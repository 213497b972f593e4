"""Result of a dry run: counts of keys and values by topic, as text or as JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seglake.errors import ExitCode
from seglake.findings.findings import Finding, Findings
from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_deserialize.part_counts import PartCounts
from seglake.printable import as_lines, show_count
from seglake.value_codec.frames.forms import Form

_FORM_NAMES = {
    Form.CONFLUENT: "",
    Form.SINGLE_OBJECT: ", Avro single objects",
    Form.APICURIO: ", frames of Apicurio",
    Form.GLUE: ", frames of AWS Glue",
    Form.JSON: ", JSON",
    Form.BARE: ", without frames",
    Form.CONNECT_JSON: ", JSON of Kafka Connect",
}
_MOST_SCHEMAS = 20  # most schemas with separate lines; JSON has all


@dataclass(frozen=True, slots=True)
class DecodeCounts:
    """Counts of the keys and values of some topics.

    Attributes:
        parts: the counts of each topic's keys and values.
        left_out: topics that a run would leave out, each with a reason.
        notes: notes on globs that select nothing, on clusters without a registry, on registries
            whose records the lake lacks, and on types that get columns of their own.
    """

    parts: Sequence[PartCounts]
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def exit_code(self) -> ExitCode:
        """Return 3 if keys or values with a schema do not decode or were not read, else 0."""
        is_whole = not any(part.reject_count for part in self.parts)
        return ExitCode.DONE if is_whole and not self.left_out else ExitCode.LOOK

    @property
    def findings(self) -> Findings:
        """Return the findings: keys and values that do not decode, and topics left out."""
        found = Findings(
            Finding(
                FindingKind.REJECTED,
                f"{part.topic}: {show_count(part.reject_count, part.part)} would be rejected",
                part.topic,
                facts={"source_id": part.source_id, "part": part.part, "count": part.reject_count},
            )
            for part in self.parts
            if part.reject_count
        )
        found.add_reasons(FindingKind.LEFT_OUT, self.left_out)
        found.add_texts(FindingKind.NOTE, self.notes)
        return found

    # Any: the types that JSON can hold.
    def to_mapping(self) -> dict[str, Any]:
        """Return the counts as a mapping, which `--json` prints."""
        return {
            "parts": [part.to_mapping() for part in self.parts],
            "left_out": {**self.left_out},
            "notes": [*self.notes],
            "exit_code": self.exit_code,
        }

    def to_json(self) -> str:
        """Return the mapping as JSON on one line."""
        return json.dumps(self.to_mapping(), sort_keys=True)

    def to_text(self) -> str:
        """Return the counts as text for a person."""
        left_out = self.findings.lines([FindingKind.LEFT_OUT])
        notes = [f"note: {note}" for note in self.notes]
        return as_lines([self._headline(), *self._part_lines(), *left_out, *notes])

    def _part_lines(self) -> Iterator[str]:
        """Yield the lines of all parts; they name the cluster if there are several."""
        are_several = len({part.source_id for part in self.parts}) > 1
        for part in self.parts:
            yield from _lines(part, f" of {part.source_id}" if are_several else "")

    def _headline(self) -> str:
        """Return the line with the number of keys and values that decode."""
        decoded = sum(part.decoded for part in self.parts)
        rejects = sum(part.reject_count for part in self.parts)
        left_out = sum(part.left_out for part in self.parts)
        others = [f"{rejects} do not"] if rejects else []
        others += [f"{left_out} are of topics left out"] if left_out else []
        found = f"{decoded} of {decoded + rejects + left_out} keys and values decode"
        return f"{found}; {', '.join(others)}" if others else found


def _lines(part: PartCounts, of_cluster: str) -> Iterator[str]:
    """Yield the lines of a topic's keys or values."""
    name = f"{part.topic} {part.part}s{of_cluster}: {show_count(part.records, 'record')}"
    if part.nulls:
        name += f", {part.nulls} without a {part.part}"
    if part.nulls == part.records:
        yield name
        return
    if part.form is Form.NONE:
        yield f"{name}; neither frames of schemas nor JSON"
        return
    name += _FORM_NAMES[part.form]
    counts = [f"{part.decoded} decode"]
    counts += [f"{part.reject_count} do not"] if part.reject_count else []
    counts += [f"{part.left_out} left out"] if part.left_out else []
    yield f"{name}; {', '.join(counts)}"
    for schema, count in part.schemas.most_common(_MOST_SCHEMAS):
        yield f"  {schema}: {count}"
    if len(part.schemas) > _MOST_SCHEMAS:
        yield f"  and {len(part.schemas) - _MOST_SCHEMAS} more schemas"
    for reason, count in part.rejects.most_common():
        yield f"  {reason}: {count}, first at {part.first_rejects[reason]}; {reason.to_do}"
