"""A drawn registry: records of `_schemas`, part by part, as Confluent's registry writes them."""

import hashlib
import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from support.drawn_avro import Schema
from support.drawn_typed.avro_schemas import names_in, text_of
from support.typed_disk import Pair, schema_pair, subject_deletion


@dataclass(frozen=True, slots=True)
class Registered:
    """A version of a subject.

    Attributes:
        content: the schema as values are drawn by it.
        references: name, subject and version of each type that is defined elsewhere.
        part: the part of the registry's log that has it.
    """

    subject: str
    version: int
    schema_id: int
    kind: str
    content: Any
    text: str
    references: tuple[tuple[str, str, int], ...]
    part: int

    @property
    def guid(self) -> bytes:
        """The GUID that Confluent's clients compute."""
        found = hashlib.md5(self.text.encode())
        for name, subject, version in self.references:
            found.update(name.encode() + subject.encode() + version.to_bytes(4, "big"))
        return found.digest()

    def pair(self) -> Pair:
        """The record of the registration."""
        members: dict[str, object] = {"schema": self.text}
        if self.kind != "AVRO":
            members["schemaType"] = self.kind
        if self.references:
            names = ("name", "subject", "version")
            members["references"] = [dict(zip(names, r, strict=True)) for r in self.references]
        return schema_pair(self.subject, self.version, self.schema_id, **members)


@dataclass(slots=True)
class DrawnRegistry:
    """The registry of a cluster; ids count in each context."""

    random: Random
    parts: int
    schemas: list[Registered] = field(default_factory=list)
    log: list[list[Pair]] = field(default_factory=list)
    _shared: dict[str, Registered] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.log = [[(b'{"keytype":"NOOP","magic":0}', None)] for _ in range(self.parts)]

    def share(self, subject: str, schema: Schema) -> None:
        """Register a type that other schemas refer to."""
        self._shared[schema["name"]] = self.schemas[self.register(subject, schema, 0)]

    def register(self, subject: str, schema: Schema, part: int) -> int:
        """Register an Avro schema; return its place among the cluster's schemas."""
        names = [name for name in dict.fromkeys(names_in(schema)) if name in self._shared]
        of = [(name, self._shared[name]) for name in names]
        references = tuple((name, each.subject, each.version) for name, each in of)
        return self.add(subject, ("AVRO", schema, text_of(schema, names)), part, references)

    def add(
        self,
        subject: str,
        schema: tuple[str, Any, str],
        part: int,
        references: tuple[tuple[str, str, int], ...] = (),
    ) -> int:
        """Register a schema of a kind with its content and text; return its place."""
        kind, content, text = schema
        context = _context(subject)
        alike = [each for each in self.schemas if _context(each.subject) == context]
        same = [each for each in alike if (each.kind, each.text) == (kind, text)]
        own = [each for each in self.schemas if each.subject == subject]
        schema_id = same[0].schema_id if same else 1 + max((e.schema_id for e in alike), default=0)
        found = Registered(
            subject=subject,
            version=1 + max((each.version for each in own), default=0),
            schema_id=schema_id,
            kind=kind,
            content=content,
            text=text,
            references=references,
            part=min(each.part for each in same) if same else part,
        )
        self.schemas.append(found)
        self.log[part].append(found.pair())
        return len(self.schemas) - 1

    def disturb(self) -> None:
        """Delete schemas, register some of them again, and configure subjects."""
        for _ in range(self.random.randrange(4) if self.schemas else 0):
            one = self.random.choice(self.schemas)
            part = self.random.randrange(one.part, self.parts)
            later = [e for e in self.schemas if e.subject == one.subject and e.part > part]
            log = self.log[part]
            match self.random.choice(("soft", "hard", "again", "config", "mode")):
                case "soft" if not later:
                    log.append(subject_deletion(one.subject, one.version))
                case "hard":
                    log.append(self._deleted(one))
                    empty = self.random.random() < 0.5  # as Karapace writes it
                    log.append((schema_pair(one.subject, one.version)[0], b"" if empty else None))
                case "again":
                    log += [subject_deletion(one.subject, one.version), one.pair()]
                case "config":
                    key = {"keytype": "CONFIG", "subject": one.subject, "magic": 0}
                    log.append((json.dumps(key).encode(), b'{"compatibilityLevel":"NONE"}'))
                case "mode":
                    log.append(
                        (b'{"keytype":"MODE","subject":null,"magic":0}', b'{"mode":"READWRITE"}')
                    )

    def _deleted(self, one: Registered) -> Pair:
        key, value = one.pair()
        return key, json.dumps({**json.loads(value or b"{}"), "deleted": True}).encode()


def _context(subject: str) -> str:
    return subject.split(":")[1] if subject.startswith(":.") else "."
