"""Keys and values of printed records, decoded by the schemas of a registry."""

import json
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa

from seglake.value_codec.decoded import UNKNOWN_POSITION, ArrowArray
from seglake.value_codec.frames.evidence import FormEvidence
from seglake.value_codec.frames.forms import FRAMED_FORMS, HEADERS, Form
from seglake.value_codec.frames.schema_groups import (
    GroupContext,
    SchemaGroup,
    schema_groups,
)
from seglake.value_codec.json_values import json_texts
from seglake.value_codec.registry.schema_registry import SchemaRegistry
from seglake.value_codec.reject_reasons import RejectReason
from seglake.value_codec.schema_readers import TEXT_USE, SchemaReaders
from seglake.value_decoding.record_parts import RecordPart, part_of


class _Outcome(NamedTuple):
    """Result of decoding a key or value.

    Attributes:
        text: the value as JSON; None if it does not decode.
        schema: name of the schema in the frame, such as its id; "" if there is no frame.
        reason: why the value does not decode.
        position: index of the first byte that could not be read, frame included; -1 if unknown.
    """

    text: str | None
    schema: str
    reason: RejectReason | None = None
    position: int = UNKNOWN_POSITION


class TypedParts:
    """Decoder of the keys and values of records.

    The form of a topic's keys or values is chosen from the first rows with frames (bytes that name
    the schema).

    Attributes:
        rejects: number of keys or values that do not decode, by topic, part and reason.
        untyped: topics and parts (key or value) without frames so far.
    """

    def __init__(
        self, registry: SchemaRegistry, subjects: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Store the registry.

        Args:
            registry: the schemas; it has all subjects that a person names.
            subjects: subjects of bodies without a frame, by `<topic>-key` or `<topic>-value`.
        """
        self._registry = registry
        self._subjects = subjects
        self._readers = SchemaReaders(registry)
        self._evidence: defaultdict[tuple[str, str], FormEvidence] = defaultdict(FormEvidence)
        self._forms: dict[tuple[str, str], Form] = {}
        self.rejects: Counter[tuple[str, str, RejectReason]] = Counter()
        self.untyped: set[tuple[str, str]] = set()

    def fields(self, rows: pa.RecordBatch) -> Mapping[str, ArrowArray]:
        """Return the fields of each decoded part, as parts of a JSON object.

        Args:
            rows: rows of one topic.
        """
        topic = rows.column("topic")[0].as_py()
        whole = pa.Table.from_batches([rows])
        found = {}
        for part in HEADERS:
            outcomes = self._outcomes(part_of(whole, part), (topic, part))
            if outcomes is not None:
                values = rows.column(part).to_pylist()
                texts = [_field(part, value, outcomes.get(row)) for row, value in enumerate(values)]
                found[part] = pa.array(texts, pa.large_string())
        return found

    def _outcomes(self, part: RecordPart, of: tuple[str, str]) -> dict[int, _Outcome] | None:
        """Return the outcome of each value that is not null, by its row; None without frames."""
        rows, bodies, headers = part
        subject = "-".join(of)
        named = self._subjects.get(subject)
        plain = (self._readers.of_subject(named) if named else None) or ("", TEXT_USE)
        if named:
            self._forms[of] = Form.BARE
        if of not in self._forms:
            evidence = self._evidence[of]
            evidence.add_bodies(bodies, headers, self._readers, subject)
            form = evidence.chosen(has_subject=self._registry.has_subject(subject))
            if form not in FRAMED_FORMS:
                if len(rows):
                    self.untyped.add(of)
                return None
            self._forms[of] = form
            self.untyped.discard(of)
        group_context = GroupContext(self._forms[of], self._readers, subject, plain)
        found = {}
        for group in schema_groups(bodies, headers, group_context):
            for index, outcome in zip(group.rows.tolist(), _decoded(group), strict=True):
                found[int(rows[index])] = outcome
                if outcome.reason is not None:
                    self.rejects[*of, outcome.reason] += 1
        return found


def _decoded(group: SchemaGroup) -> Iterator[_Outcome]:
    """Yield the result of decoding each key or value of one schema."""
    for values, reasons, positions in group.decoded_parts():
        rows = zip(json_texts(values), reasons.tolist(), positions.tolist(), strict=True)
        for text, code, position in rows:
            if code:
                yield _Outcome(None, group.name, RejectReason.of_code(code), position)
            else:
                yield _Outcome(text, group.name)


def _field(part: str, value: bytes | None, outcome: _Outcome | None) -> str:
    """Return a key or value as fields of the record's JSON object."""
    if value is None or outcome is None:
        return f'"{part}":null'
    if outcome.reason is None:
        return f'"{part}":{outcome.text},"{part}_schema":{json.dumps(outcome.schema)}'
    why = {"reason": outcome.reason, "position": outcome.position, "schema": outcome.schema}
    known = {name: each for name, each in why.items() if each not in ("", -1)}
    raw = b64encode(value).decode()
    return f'"{part}_base64":"{raw}","{part}_reject":{json.dumps(known)}'
