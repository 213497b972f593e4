"""Frames are recognised by their first bytes, all at once."""

import random
from uuid import UUID

import pytest

from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.frames.forms import Form
from seglake.value_codec.frames.frames import Frame, frames

_NAME = "GUID 6f581da8-c7d2-40de-b023-a690cf936ded"
_GUID = UUID(_NAME.removeprefix("GUID ")).bytes


def read(form: Form, *values: bytes) -> dict[Frame, list[int]]:
    return {frame: rows.tolist() for frame, rows in frames(form, bodies_of_bytes(values))}


@pytest.mark.parametrize(
    ("form", "value", "name"),
    [
        (Form.CONFLUENT, b"", "no_frame"),
        (Form.CONFLUENT, b"\x00\x00\x00\x01", "no_frame"),
        (Form.CONFLUENT, b"\x00\x00\x00\x00\x01", "id 1"),
        (Form.CONFLUENT, b"\x00\x7f\xff\xff\xff", "id 2147483647"),
        (Form.CONFLUENT, b"\x00\x00\x00\x00\x00", "unknown_schema_id"),
        (Form.CONFLUENT, b"\x00\x80\x00\x00\x01", "unknown_schema_id"),
        (Form.CONFLUENT, b"\x01" + _GUID, _NAME),
        (Form.CONFLUENT, b"\x01" + _GUID[1:], "no_frame"),
        (Form.CONFLUENT, b'{"a":1}', "bad_magic"),
        (Form.CONFLUENT, b"abcd", "no_frame"),
        (Form.APICURIO, b"\x00" * 8 + b"\x01", "id 1"),
        (Form.APICURIO, b"\x00" * 9, "unknown_schema_id"),
        (Form.APICURIO, b"\x00" * 7 + b"\x01", "no_frame"),
        (Form.APICURIO, b"\x00" * 4 + b"\x01\x00\x00\x00\x01", "unknown_schema_id"),
        (Form.APICURIO, b"\x00" * 5 + b"\x80\x00\x00\x01", "unknown_schema_id"),
        (Form.APICURIO, b"\x01" * 9, "bad_magic"),
        (Form.SINGLE_OBJECT, b"\xc3\x01" + _GUID[:8], f"fingerprint {_GUID[7::-1].hex()}"),
        (Form.SINGLE_OBJECT, b"\xc3\x01" + _GUID[:7], "no_frame"),
        (Form.SINGLE_OBJECT, b"\xc3\x02" + _GUID[:8], "bad_magic"),
        (Form.SINGLE_OBJECT, b"\x00" + _GUID, "bad_magic"),
        (Form.GLUE, b"\x03\x00" + _GUID, _NAME),
        (Form.GLUE, b"\x03\x05" + _GUID, f"{_NAME} packed"),
        (Form.GLUE, b"\x03\x05" + _GUID[1:], "no_frame"),
        (Form.GLUE, b"\x03\x04" + _GUID, "compressed_frame_bad"),
        (Form.GLUE, b"\x00\x05" + _GUID, "bad_magic"),
    ],
)
def test_a_frame_begins_with_its_magic_bytes_and_names_a_schema(
    form: Form, value: bytes, name: str
) -> None:
    [(found, rows)] = read(form, value).items()
    assert ((found.problem or found.name) + " packed" * found.is_packed, rows) == (name, [0])


def test_schemas_are_named_once_and_bodies_begin_after_the_frames() -> None:
    found = read(
        Form.CONFLUENT,
        *(b"\x00\x00\x00\x01\x02x", b"\x01" + _GUID + b"y", b"?????"),
        *(b"\x00\x00\x00\x00\x05", b"\x00\x00\x00\x01\x02"),
    )
    sizes = {frame.name: (frame.size, rows) for frame, rows in found.items()}
    assert sizes == {"id 258": (5, [0, 4]), "id 5": (5, [3]), _NAME: (17, [1]), "": (0, [2])}


def test_many_schemas_are_told_apart() -> None:
    chance = random.Random(3)
    ids = [chance.choice([chance.randrange(1 << 31), 7]) or 1 for _ in range(5000)]
    found = read(Form.CONFLUENT, *(b"\0" + number.to_bytes(4, "big") + b"x" for number in ids))
    expected: dict[str, list[int]] = {}
    for row, number in enumerate(ids):
        expected.setdefault(f"id {number}", []).append(row)
    assert {frame.name: rows for frame, rows in found.items()} == expected
