"""Whatever records a topic of a registry has, each id that they give decodes, or has a reason."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from seglake.value_codec.registry.registry_records import registry_record
from seglake.value_codec.registry.schema_registry import RecordedAt, SchemaRegistry
from seglake.value_codec.reject_reasons import RejectReason
from seglake.value_codec.schema_readers import SchemaReaders

_GOOD = ('"int"', '"string"', '{"type": "array", "items": "long"}', '{"type":"bytes"}')
_BAD = ("{", "", '"a.Unknown"', '{"type": "fixed", "name": "F", "size": -1}')
_SUBJECTS = ("t-value", "t-key", ":.c:t-value", ":.c:x", ":.:y", "::", ":", "x#y")
_BROKEN_KEYS = (None, b"", b"\xff", b"[]", b"null", b"[" * 5000, b'{"keytype":"SCHEMA"}')
_BROKEN_VALUES = (b"\xff", b"7", b"[" * 100_000, b'{"a":' * 3000, b'{"subject":"t-value"}')
Record = tuple[bytes | None, bytes | None]
# Any: members of JSON have many types.
Members = dict[str, Any]


def _context(subject: str) -> str:
    """The context in a subject's name, as the registry's documentation has it."""
    return subject.split(":")[1] if subject.startswith(":.") and subject.count(":") > 1 else "."


def _record(keytype: str, subject: str, version: int, value: Members | None) -> Record:
    key: Members = {"keytype": keytype, "subject": subject, "magic": 1}
    if keytype == "SCHEMA":
        key["version"] = version
    return json.dumps(key).encode(), None if value is None else json.dumps(value).encode()


def _log(chance: random.Random) -> Iterator[tuple[Record, tuple[str, int, str] | None]]:
    """Yield records, each with the context, id and text that it registers."""
    for _ in range(chance.randint(1, 30)):
        subject, version = chance.choice(_SUBJECTS), chance.randint(1, 3)
        kind = chance.choice(("SCHEMA",) * 6 + ("DELETE_SUBJECT", "hard", "CONFIG", "NOOP", "bad"))
        if kind == "SCHEMA":
            number, text = chance.randint(1, 6), chance.choice(_GOOD * 3 + _BAD)
            value = {"subject": subject, "version": version, "id": number, "schema": text}
            value["deleted"] = chance.random() < 0.2
            found = _context(subject), number, text
            yield _record(kind, subject, version, value), found
        elif kind == "hard":
            record = _record("SCHEMA", subject, version, None)
            yield (record[0], chance.choice((None, b""))), None
        elif kind == "bad":
            good = _record("SCHEMA", subject, version, {"id": 1})
            bad = chance.choice(_BROKEN_VALUES)
            key = chance.choice(_BROKEN_KEYS)
            yield chance.choice(((good[0], bad), (key, good[1]), (key, None))), None
        else:
            value = {"subject": subject, "version": version}
            yield _record(kind, subject, version, value), None


@pytest.mark.parametrize("seed", range(40))
def test_each_id_decodes_unless_its_texts_are_several_or_broken(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(10):
        texts: dict[tuple[str, int], set[str]] = {}
        registry = SchemaRegistry()
        for offset, (record, registered) in enumerate(_log(chance)):
            if chance.random() < 0.2:
                continue  # compaction has removed it
            registry.add(registry_record(*record), RecordedAt(offset, offset))
            if registered is not None:
                context, number, text = registered
                texts.setdefault((context, number), set()).add(text)
        readers = SchemaReaders(registry)
        for (context, number), found in texts.items():
            use = readers.of_id(f":{context}:", number)
            if len(found) > 1:
                assert use.problem is RejectReason.AMBIGUOUS_SCHEMA_ID
            elif found <= {*_GOOD}:
                assert use.reader is not None
            else:
                assert use.problem is RejectReason.SCHEMA_UNPARSEABLE
        for context in (".", ".c"):
            for number in {*range(1, 8)} - {n for c, n in texts if c == context}:
                use = readers.of_id(f":{context}:", number)
                assert use.problem is RejectReason.UNKNOWN_SCHEMA_ID
