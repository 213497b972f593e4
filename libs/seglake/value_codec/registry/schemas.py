"""Schemas as a registry stores them."""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import md5
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

_RULES_THAT_ENCRYPT = frozenset({"ENCRYPT", "ENCRYPT_PAYLOAD"})
_MODES_THAT_WRITE = frozenset({"WRITE", "WRITEREAD"})
_RULE_TEXTS = ("name", "doc", "kind", "mode", "type")
_RULE_DEFAULTS = {"kind": "TRANSFORM", "mode": "WRITEREAD"}
DEFAULT_CONTEXT = "."


class SchemaType(StrEnum):
    """Types of schemas that Confluent's registry knows; a record without a type is Avro's."""

    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


class Reference(NamedTuple):
    """Import of another schema.

    Attributes:
        name: full name (Avro), import path (Protobuf) or URI (JSON Schema) in the text.
        subject: subject of the imported schema.
        version: version of the imported schema; -1 for the latest.
    """

    name: str
    subject: str
    version: int


class SubjectVersion(NamedTuple):
    """Subject and version under which a registry has a schema."""

    subject: str
    version: int

    @property
    def context(self) -> str:
        """Return the context that the subject's ids belong to: `.lab` for `:.lab:orders-value`.

        >>> SubjectVersion(":.lab:orders-value", 1).context
        '.lab'
        """
        if not self.subject.startswith(":."):
            return DEFAULT_CONTEXT
        return self.subject[1:].partition(":")[0]

    @property
    def name(self) -> str:
        """Return the subject without its context."""
        return self.subject.removeprefix(f":{self.context}:")

    def of_reference(self, reference: Reference) -> "SubjectVersion":
        """Return the subject and version that a reference names, in this context by default."""
        subject, context = reference.subject, self.context
        if context != DEFAULT_CONTEXT and not subject.startswith(":."):
            subject = f":{context}:{subject}"
        return SubjectVersion(subject.removeprefix(f":{DEFAULT_CONTEXT}:"), reference.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaContent:
    """Content of a schema: all that decides what bytes written with it mean.

    Attributes:
        schema_type: a SchemaType, or an unknown type as it is written.
        text: the schema, as the registry stores it.
        metadata: properties and tags, as in the registry's JSON; None if there are none.
        rule_set: rules, as in the registry's JSON; None if there are none.
    """

    schema_type: str
    text: str
    references: tuple[Reference, ...] = ()
    # Any: values of JSON have many types.
    metadata: dict[str, Any] | None = None
    rule_set: dict[str, Any] | None = None

    def guid(self) -> UUID:
        """Return the GUID that Confluent's clients compute: the MD5 of the content.

        If a registry stores a text that differs from the one that its client sent, this GUID
        differs from the one in the records' headers.

        Source: confluentinc/schema-registry 794611b, Schema.getGuid, SchemaReference, Metadata,
        RuleSet and Rule (`updateHash`).

        >>> str(SchemaContent(schema_type="AVRO", text='"int"').guid())
        'ef524ea1-b91e-7317-3d93-8ade36c1db32'
        """
        found = md5(self.text.encode("utf-8", "surrogatepass"), usedforsecurity=False)
        for reference in self.references:
            found.update(f"{reference.name}{reference.subject}".encode("utf-8", "surrogatepass"))
            found.update((reference.version & 0xFFFFFFFF).to_bytes(4, "big"))
        for part, texts in ((self.metadata, _metadata_texts), (self.rule_set, _rule_set_texts)):
            if part is not None:
                found.update(b"\x01")
                found.update("".join(texts(part)).encode("utf-8", "surrogatepass"))
        return UUID(bytes=found.digest())

    @property
    def is_encrypting(self) -> bool:
        """Return whether a rule encrypts parts of the values before they are written."""
        rules = [] if self.rule_set is None else _rules(self.rule_set)
        return any(
            rule.get("type") in _RULES_THAT_ENCRYPT
            and _text(rule, "mode") in _MODES_THAT_WRITE
            and rule.get("disabled") is not True
            for rule in rules
        )


def _metadata_texts(metadata: dict[str, Any]) -> list[str]:
    """Return the metadata that the GUID hashes: tags, properties and sensitive names, sorted."""
    tags, properties = _mapping(metadata, "tags"), _mapping(metadata, "properties")
    return [
        *chain.from_iterable((name, *_sorted_texts(tags[name])) for name in sorted(tags)),
        *chain.from_iterable((name, str(properties[name])) for name in sorted(properties)),
        *_sorted_texts(metadata.get("sensitive")),
    ]


def _rule_set_texts(rule_set: dict[str, Any]) -> list[str]:
    """Return the texts of a rule set that the GUID hashes, rule by rule."""
    texts: list[str] = []
    for rule in _rules(rule_set):
        params = _mapping(rule, "params")
        texts += [_text(rule, name) for name in _RULE_TEXTS]
        texts += _sorted_texts(rule.get("tags"))
        texts += chain.from_iterable((name, str(params[name])) for name in sorted(params))
        texts += [_text(rule, name) for name in ("expr", "onSuccess", "onFailure")]
        texts += ["\x01"] if rule.get("disabled") is True else []
    return texts


def _rules(rule_set: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rules of a rule set, in the order in which they are hashed."""
    lists = (rule_set.get(name) for name in ("migrationRules", "domainRules", "encodingRules"))
    every = chain.from_iterable(found for found in lists if isinstance(found, list))
    return [rule for rule in every if isinstance(rule, dict)]


def _text(rule: dict[str, Any], name: str) -> str:
    """Return a rule's member as text, or its default; "" if it is null."""
    found = rule.get(name)
    return _RULE_DEFAULTS.get(name, "") if found is None else str(found)


def _mapping(part: dict[str, Any], name: str) -> dict[str, Any]:
    found = part.get(name)
    return found if isinstance(found, dict) else {}


def _sorted_texts(values: Any) -> list[str]:
    """Return the distinct texts of a list of JSON, sorted; none if it is no list."""
    return sorted({str(value) for value in values}) if isinstance(values, list) else []
