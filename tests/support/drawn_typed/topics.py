"""Drawn topics: records whose keys and values name schemas, some of them damaged."""

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from support.avro_oracle import written
from support.drawn_avro import without_logical
from support.drawn_typed.avro_outcomes import avro_outcome
from support.drawn_typed.avro_schemas import text_of
from support.drawn_typed.json_outcomes import (
    connect_schema,
    connect_value,
    json_outcome,
    object_body,
)
from support.drawn_typed.outcomes import Outcome
from support.drawn_typed.protobuf_outcomes import MESSAGES, protobuf_body, protobuf_outcome
from support.drawn_typed.registries import DrawnRegistry, Registered
from support.value_campaign.avro_pairs import value_of
from support.value_campaign.damage import damaged

Headers = tuple[tuple[str | bytes, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A drawn key or value: its bytes, the record's header for it, and what must become of it."""

    content: bytes | None
    outcome: Outcome
    headers: Headers = ()


NULL = Part(None, Outcome())


@dataclass(slots=True)
class DrawnPart:
    """How keys or values of a topic are drawn.

    Attributes:
        frame: `id`, `guid`, or `header`.
        schemas: places of the schemas, by the part of the log in which producers begin to use them.
    """

    random: Random
    registry: DrawnRegistry
    name: str
    frame: str
    schemas: list[list[int]] = field(default_factory=list)
    damages: float = 0.1

    def drawn(self, part: int) -> Part:
        """A key or a value of a part of the log."""
        known = [place for some in self.schemas[: part + 1] for place in some]
        place = self.random.choice((self.random.choice(known), known[-1]))
        schema = self.registry.schemas[place]
        message = self.random.choice((MESSAGES[0], *MESSAGES)) if schema.kind == "PROTOBUF" else ""
        body = drawn_body(self.random, schema, message)
        if self.random.random() >= self.damages:
            return self._framed(schema, message, body, outcome_of(schema, message, body, place))
        match self.random.choice(("body", "body", "trailing", "id", "short", "magic")):
            case "body":
                body = damaged(self.random, body)
            case "trailing":
                body += self.random.randbytes(self.random.randrange(1, 4))
            case "id":
                return self._unknown(body)
            case "short" if self.frame != "header":
                content = b"\0\0\0\0\1"[: self.random.randrange(5)]
                return Part(content, Outcome((), frozenset({"no_frame", "bad_magic"})))
            case "magic" if self.frame != "header":
                return Part(b"\x09" + body, Outcome((), frozenset({"bad_magic", "no_frame"})))
        outcome = outcome_of(schema, message, body, place, is_sound=False)
        return self._framed(schema, message, body, outcome)

    def _framed(self, schema: Registered, message: str, body: bytes, outcome: Outcome) -> Part:
        by_id, by_guid = b"\0" + schema.schema_id.to_bytes(4, "big"), b"\1" + schema.guid
        indexes = b""
        if message and self.random.random() < self.damages / 10:
            indexes, outcome = b"\x02\x7e", Outcome((), frozenset({"bad_message_index"}))
        elif message:
            indexes = b"\0" if message == MESSAGES[0] else b"\x02\x02"
        return self._with_frame(by_id + indexes, by_guid + indexes, body, outcome)

    def _unknown(self, body: bytes) -> Part:
        by_id, by_guid = b"\0" + (99_999).to_bytes(4, "big"), b"\1" + bytes(range(16))
        reasons = frozenset({"unknown_schema_id", "unknown_guid"})
        return self._with_frame(by_id, by_guid, body, Outcome((), reasons))

    def _with_frame(self, by_id: bytes, by_guid: bytes, body: bytes, outcome: Outcome) -> Part:
        match self.frame:
            case "id":
                return Part(by_id + body, outcome)
            case "guid":
                return Part(by_guid + body, outcome)
        header = self.random.choice((by_id, by_guid))
        return Part(body, outcome, ((f"__{self.name}_schema_id", header),))


def drawn_body(random: Random, schema: Registered, message: str) -> bytes:
    """The bytes of a value that another library writes."""
    match schema.kind:
        case "PROTOBUF":
            return protobuf_body(random, schema.text, message)
        case "JSON":
            return object_body(random)
    plain = without_logical(json.loads(text_of(schema.content)))
    return written(plain, value_of(random, schema.content))


def outcome_of(
    schema: Registered, message: str, body: bytes, place: int, *, is_sound: bool = True
) -> Outcome:
    """What must become of the bytes after a frame."""
    match schema.kind:
        case "PROTOBUF":
            return protobuf_outcome(schema.text, message, body, place)
        case "JSON":
            return json_outcome(body, place)
    return avro_outcome(schema.content, body, place, is_sound=is_sound)


@dataclass(slots=True)
class DrawnTexts:
    """How values without frames are drawn: JSON, or Kafka Connect's JSON."""

    random: Random
    parts: int
    is_connect: bool
    damages: float = 0.1
    _schemas: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._schemas = [connect_schema(self.random) for _ in range(self.parts)]

    def drawn(self, part: int) -> Part:
        """A value of a part of the log."""
        if self.is_connect:
            schema = self.random.choice(self._schemas[: part + 1])
            payload, form = connect_value(self.random, schema)
            body = json.dumps({"schema": schema, "payload": payload}).encode()
            if self.random.random() >= self.damages:
                return Part(body, Outcome((form,)))
            body = body[: self.random.randrange(len(body))]
            return Part(body, Outcome((), frozenset({"bad_json"})))
        body = object_body(self.random)
        if self.random.random() < self.damages:
            body = damaged(self.random, body)
        return Part(body, json_outcome(body))
