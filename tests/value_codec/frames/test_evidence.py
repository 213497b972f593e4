"""The form of a topic is chosen from all its records, by what cannot be an accident."""

import json

import pytest

from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.frames.evidence import FormEvidence
from seglake.value_codec.frames.forms import Form
from seglake.value_codec.registry.registry_records import registry_record
from seglake.value_codec.registry.schema_registry import SchemaRegistry
from seglake.value_codec.schema_readers import SchemaReaders
from support.typed_disk import schema_pair

_KNOWN = b"\x00\x00\x00\x00\x01\x02"
_LOST = b"\x00\x00\x00\x00\x07\x02"
_INT_FINGERPRINT = 0x7275D51A3F395C8F  # of Avro's specification
_SINGLE = b"\xc3\x01" + _INT_FINGERPRINT.to_bytes(8, "little") + b"\x02"
_GLUE = b"\x03\x00" + bytes(range(16)) + b"\x02"
_OBJECT = json.dumps({"schema": 1}).encode()
_ENVELOPE = json.dumps({"schema": None, "payload": 1}).encode()


def evidence(values: list[bytes], headers: dict[int, bytes] | None = None) -> FormEvidence:
    registry = SchemaRegistry()
    registry.add(registry_record(*schema_pair("t-value", 1, 1)), None)
    found = FormEvidence()
    found.add_bodies(bodies_of_bytes(values), headers or {}, SchemaReaders(registry), ".")
    return found


@pytest.mark.parametrize(
    ("values", "has_subject", "form"),
    [
        ([_KNOWN] * 9 + [b"text"], False, Form.CONFLUENT),
        ([_KNOWN] + [b"text"] * 20, False, Form.NONE),
        ([_KNOWN] + [b"text"] * 20, True, Form.CONFLUENT),
        ([_LOST] * 3, False, Form.CONFLUENT),
        ([_LOST] * 3 + [b"text"], False, Form.NONE),
        ([_LOST] * 9 + [b"\x00\x01"], False, Form.CONFLUENT),  # one is damaged
        ([_LOST] * 8 + [b"\x00\x01"], False, Form.NONE),
        ([_LOST + b"\x00\x00"] * 9 + [_LOST], False, Form.NONE),  # most may be numbers
        ([_KNOWN + b"\x00\x00"] * 3, False, Form.NONE),  # numbers of 8 bytes
        ([_KNOWN + b"\x00\x00"] * 3, True, Form.CONFLUENT),
        ([_SINGLE] * 2 + [_KNOWN], True, Form.SINGLE_OBJECT),
        ([_SINGLE[:-2] + b"\x00\x00"] * 2 + [b"x"], False, Form.SINGLE_OBJECT),
        ([_GLUE] * 2 + [b"x"], False, Form.GLUE),
        ([_OBJECT] * 2 + [b"12"], False, Form.JSON),
        ([_OBJECT] * 2 + [_KNOWN], False, Form.CONFLUENT),
        ([b"{no", b"[json", _OBJECT], False, Form.NONE),
        ([_ENVELOPE] * 2 + [_OBJECT], False, Form.CONNECT_JSON),
        ([_ENVELOPE] + [_OBJECT] * 2, False, Form.JSON),
        ([b'"a"', b"12"], False, Form.NONE),
        ([], True, Form.NONE),
    ],
)
def test_the_form_is_what_most_records_prove(
    values: list[bytes], has_subject: bool, form: Form
) -> None:
    assert evidence(values).chosen(has_subject=has_subject) is form


def test_headers_with_a_schema_id_decide_whatever_the_bodies_look_like() -> None:
    lost = b"\x01" + bytes(16)
    assert evidence([_OBJECT] * 3, {0: lost, 2: lost}).chosen(has_subject=False) is Form.CONFLUENT
    assert evidence([_OBJECT] * 3, {0: lost}).chosen(has_subject=False) is Form.JSON
    known = b"\x00\x00\x00\x00\x01"
    eights = [b"12345678"] * 3
    assert evidence(eights, {0: known}).chosen(has_subject=False) is Form.CONFLUENT


def test_the_evidence_of_tasks_adds_up() -> None:
    both = evidence([_KNOWN, b"x"])
    both.add(evidence([_OBJECT, _GLUE, _ENVELOPE]))
    assert both == evidence([_KNOWN, b"x", _OBJECT, _GLUE, _ENVELOPE])


def test_the_evidence_names_the_schemas_of_the_registry_that_frames_and_headers_refer_to() -> None:
    known = b"\x00\x00\x00\x00\x01"
    found = evidence([_KNOWN, _LOST, _GLUE, b"text"])
    assert found.names(Form.CONFLUENT) == {"id 1"}
    assert found.names(Form.GLUE) == set()
    assert evidence([_OBJECT] * 2, {1: known}).names(Form.CONFLUENT) == {"id 1"}
    assert evidence([_LOST], {0: b"\x00\x00\x00\x00\x07"}).names(Form.CONFLUENT) == set()
