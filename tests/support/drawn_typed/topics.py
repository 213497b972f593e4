"""Drawn topics: records whose keys and values name schemas, some of them damaged."""

import json
from dataclasses import dataclass, field
from random import Random

from support.avro_oracle import written
from support.drawn_avro import without_logical
from support.drawn_typed.avro_outcomes import Outcome, avro_outcome
from support.drawn_typed.avro_schemas import text_of
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
        body = avro_body(self.random, schema)
        is_sound = self.random.random() >= self.damages
        if is_sound:
            outcome = avro_outcome(schema.content, body, place, is_sound=True)
            return self._framed(schema, body, outcome)
        match self.random.choice(("body", "body", "trailing", "id", "short", "magic")):
            case "body":
                body = damaged(self.random, body)
            case "trailing":
                body += self.random.randbytes(self.random.randrange(1, 4))
            case "id":
                return self._unknown(body)
            case "short" if self.frame != "header":
                content = b"\0\0\0\0\1"[: self.random.randrange(5)]
                reasons = frozenset({"no_frame", "bad_magic"})
                return Part(content, Outcome((), reasons))
            case "magic" if self.frame != "header":
                return Part(b"\x09" + body, Outcome((), frozenset({"bad_magic", "no_frame"})))
        outcome = avro_outcome(schema.content, body, place, is_sound=False)
        return self._framed(schema, body, outcome)

    def _framed(self, schema: Registered, body: bytes, outcome: Outcome) -> Part:
        by_id, by_guid = b"\0" + schema.schema_id.to_bytes(4, "big"), b"\1" + schema.guid
        return self._with_frame(by_id, by_guid, body, outcome)

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


def avro_body(random: Random, schema: Registered) -> bytes:
    """The bytes of a value that fastavro writes."""
    value = value_of(random, schema.content)
    plain = without_logical(json.loads(text_of(schema.content)))
    return written(plain, value)
