"""Summary of a run of `deserialize`, for a person and for programs."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from seglake.findings.findings import Finding, Findings
from seglake.findings.kinds import FindingKind
from seglake.printable import as_lines, show_count
from seglake.value_codec.reject_reasons import RejectReason

_MOST_TOPICS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicResult:
    """Counts of a topic's records that a run has decoded.

    Attributes:
        tables: names of the topic's typed tables.
        records: number of records: typed rows and rejected values.
        key_rejects: number of rejected keys; the values of these records are typed rows, or are
            rejected too.
        reasons: number of rejects, by part and reason, the most frequent first.
        is_balanced: whether each attempt has as many typed rows and rejected values as records,
            and the files as many rows.
    """

    source_id: str
    topic: str
    tables: list[str]
    records: int
    typed_rows: int
    value_rejects: int
    key_rejects: int
    reasons: dict[str, int]
    is_balanced: bool


class Standing(NamedTuple):
    """Rejects of a topic, of this run and of earlier ones, that no run has resolved.

    Attributes:
        values: number of records whose value does not decode.
        keys: number of records whose key does not decode.
    """

    source_id: str
    topic: str
    values: int
    keys: int

    def __str__(self) -> str:
        """Return the unresolved rejects of a topic as one sentence."""
        parts = [
            show_count(count, what)
            for count, what in ((self.values, "value"), (self.keys, "key"))
            if count
        ]
        return f"{self.topic}: {' and '.join(parts)} in value_rejects, of this run or earlier ones"


@dataclass(slots=True)
class DeserializeSummary:
    """Summary of a run.

    Attributes:
        run_id: label of the run.
        lake: path of the lake.
        topics: the topics with new typed rows or rejects.
        retried: the topics with records that were rejected and decode now; their counts of rejects
            are negative.
        standing: rejects that are unresolved after the run.
        fails_on_rejects: whether rejects end the run with exit code 3, as described at
            `findings`.
        retries: whether the run was to decode rejected values again.
        left_out: topics that should have been decoded but were not, each with a reason.
        without_schemas: topics whose values neither name schemas nor are JSON.
        notes: notes on clusters without a registry, of which only JSON is decoded, and on
            registries of which the lake may lack schemas.
        recovered: topics with an unfinished commit of a dead run that this run has completed.
        seconds: duration of the run.
    """

    run_id: str
    lake: str
    topics: list[TopicResult] = field(default_factory=list)
    retried: list[TopicResult] = field(default_factory=list)
    standing: list[Standing] = field(default_factory=list)
    fails_on_rejects: bool = True
    retries: bool = False
    left_out: dict[str, str] = field(default_factory=dict)
    without_schemas: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    recovered: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """Return 3 if the run rejected values, or topics were left out, else 0."""
        return self.findings.exit_code

    @property
    def findings(self) -> Findings:
        """Return findings on unresolved rejects, topics left out and clusters without a registry.

        The limit is crossed in the run that records rejects and in a retry, not in later runs:
        otherwise one old value would make each scheduled run fail, and hide new rejects.
        """
        found = Findings(
            Finding(
                FindingKind.REJECTED,
                str(each),
                each.topic,
                facts={"source_id": each.source_id, "values": each.values, "keys": each.keys},
            )
            for each in self.standing
        )
        if self.standing and self.fails_on_rejects and self._may_have_rejected:
            name = "limits.fail_on_rejects"
            text = f"{name}: {show_count(self._standing_count, 'reject')} in {self._named()}"
            found.add([Finding(FindingKind.LIMIT_CROSSED, text, facts={"limit": name})])
        found.add_reasons(FindingKind.LEFT_OUT, self.left_out)
        found.add_texts(FindingKind.NOTE, self.notes)
        return found

    @property
    def _may_have_rejected(self) -> bool:
        """Return whether this run, or a dead one that it completed, may have recorded rejects."""
        new = any(each.value_rejects + each.key_rejects for each in self.topics)
        return new or self.retries or bool(self.recovered)

    def _named(self) -> str:
        """Return the topics with the most unresolved rejects, with their numbers."""
        counts = sorted((-each.values - each.keys, each.topic) for each in self.standing)
        shown = ", ".join(f"{topic} ({-count})" for count, topic in counts[:_MOST_TOPICS])
        more = len(counts) - _MOST_TOPICS
        return f"{shown} and {more} more" if more > 0 else shown

    @property
    def _standing_count(self) -> int:
        return sum(each.values + each.keys for each in self.standing)

    def to_json(self) -> str:
        """Return the summary of a run of `deserialize` as JSON on one line."""
        facts = asdict(self) | {"standing": [each._asdict() for each in self.standing]}
        facts |= {
            "records": sum(each.records for each in self.topics),
            "typed_rows": sum(each.typed_rows for each in (*self.topics, *self.retried)),
            "standing_rejects": self._standing_count,
        }
        facts |= self.findings.to_mapping() | {"exit_code": self.exit_code}
        return json.dumps(facts, sort_keys=True)

    def to_text(self) -> str:
        """Return the summary as lines for a terminal."""
        return as_lines([self._headline(), *self._lines()])

    def _headline(self) -> str:
        typed = sum(each.typed_rows for each in self.topics)
        rejects = sum(each.value_rejects + each.key_rejects for each in self.topics)
        text = f"{show_count(typed, 'typed row')} of {show_count(len(self.topics), 'topic')}"
        if not self.topics:
            text = "nothing decoded" if self.left_out else "nothing new to decode"
            if self.retries and self.standing and not self.retried:
                text += "; no rejected value decodes now"
            elif self.standing:
                text += f", and {show_count(self._standing_count, 'reject')} of earlier runs"
        elif rejects:
            text += f", {show_count(rejects, 'reject')}"
        return f"{text} ({self.seconds:.1f} s)"

    def _lines(self) -> Iterator[str]:
        for each in self.topics:
            yield (
                f"{each.topic}: {show_count(each.records, 'record')}, {each.typed_rows} in"
                f" {', '.join(each.tables)}"
            )
            for reason, count in each.reasons.items():
                advice = RejectReason(reason.partition(" ")[2]).to_do
                yield f"  rejected {reason}: {count}; {advice}"
        for each in self.retried:
            records = show_count(each.typed_rows, "rejected record")
            yield f"{each.topic}: {records} became typed rows, in {', '.join(each.tables)}"
        yield from self.findings.lines()
        if self.retries and self.standing:
            yield f"what to do about rejects: {FindingKind.REJECTED.to_do}"
        if self.without_schemas:
            yield f"neither frames of schemas nor JSON: {', '.join(self.without_schemas)}"
        if self.recovered:
            yield f"completed what an earlier run began: {', '.join(self.recovered)}"
