"""Frames are recognised by their first bytes, all at once."""

import random
from uuid import UUID

import numpy as np
import pytest

from seglake.value_codec.frames.forms import Form
from seglake.value_codec.frames.frames import FrameKind, Frames, frames

_GUID = UUID("6f581da8-c7d2-40de-b023-a690cf936ded").bytes


def read(form: Form, *values: bytes) -> Frames:
    ends = np.cumsum([len(value) for value in values])
    starts = ends - [len(value) for value in values]
    return frames(form, np.frombuffer(b"".join(values), np.uint8), starts, ends)


@pytest.mark.parametrize(
    ("form", "value", "kind"),
    [
        (Form.CONFLUENT, b"", FrameKind.NO_FRAME),
        (Form.CONFLUENT, b"\x00\x00\x00\x01", FrameKind.NO_FRAME),
        (Form.CONFLUENT, b"\x00\x00\x00\x00\x01", FrameKind.ID),
        (Form.CONFLUENT, b"\x00\x7f\xff\xff\xff", FrameKind.ID),
        (Form.CONFLUENT, b"\x00\x00\x00\x00\x00", FrameKind.NO_FRAME),
        (Form.CONFLUENT, b"\x00\x80\x00\x00\x01", FrameKind.NO_FRAME),
        (Form.CONFLUENT, b"\x01" + _GUID, FrameKind.GUID),
        (Form.CONFLUENT, b"\x01" + _GUID[1:], FrameKind.NO_FRAME),
        (Form.CONFLUENT, b'{"a":1}', FrameKind.BAD_MAGIC),
        (Form.CONFLUENT, b"abcd", FrameKind.NO_FRAME),
        (Form.APICURIO, b"\x00" * 8 + b"\x01", FrameKind.ID),
        (Form.APICURIO, b"\x00" * 9, FrameKind.NO_FRAME),
        (Form.APICURIO, b"\x00" * 7 + b"\x01", FrameKind.NO_FRAME),
        (Form.APICURIO, b"\x00" * 4 + b"\x01\x00\x00\x00\x01", FrameKind.NO_FRAME),
        (Form.APICURIO, b"\x00" * 5 + b"\x80\x00\x00\x01", FrameKind.NO_FRAME),
        (Form.APICURIO, b"\x01" * 9, FrameKind.BAD_MAGIC),
        (Form.SINGLE_OBJECT, b"\xc3\x01" + _GUID[:8], FrameKind.FINGERPRINT),
        (Form.SINGLE_OBJECT, b"\xc3\x01" + _GUID[:7], FrameKind.NO_FRAME),
        (Form.SINGLE_OBJECT, b"\xc3\x02" + _GUID[:8], FrameKind.BAD_MAGIC),
        (Form.SINGLE_OBJECT, b"\x00" + _GUID, FrameKind.BAD_MAGIC),
        (Form.GLUE, b"\x03\x00" + _GUID, FrameKind.GUID),
        (Form.GLUE, b"\x03\x05" + _GUID, FrameKind.ZLIB_GUID),
        (Form.GLUE, b"\x03\x05" + _GUID[1:], FrameKind.NO_FRAME),
        (Form.GLUE, b"\x03\x04" + _GUID, FrameKind.BAD_COMPRESSION),
        (Form.GLUE, b"\x00\x05" + _GUID, FrameKind.BAD_MAGIC),
    ],
)
def test_a_frame_begins_with_its_magic_bytes_and_names_a_schema(
    form: Form, value: bytes, kind: FrameKind
) -> None:
    assert read(form, value).kinds.tolist() == [kind]


def test_schemas_are_named_once_and_bodies_begin_after_the_frames() -> None:
    found = read(
        Form.CONFLUENT,
        *(b"\x00\x00\x00\x01\x02x", b"\x01" + _GUID + b"y", b"?????"),
        *(b"\x00\x00\x00\x00\x05", b"\x00\x00\x00\x01\x02"),
    )
    ids = [int.from_bytes(name, "big") for name in found.names[FrameKind.ID]]
    assert [ids[n] for n in found.schemas[[0, 3, 4]]] == [0x102, 5, 0x102]
    assert (sorted(ids), found.names[FrameKind.GUID]) == ([5, 0x102], [_GUID])
    assert found.sizes == {FrameKind.ID: 5, FrameKind.GUID: 17}
    assert [rows.tolist() for rows in found.rows_of(FrameKind.ID)] in ([[3], [0, 4]], [[0, 4], [3]])


def test_many_schemas_are_told_apart() -> None:
    chance = random.Random(3)
    ids = [chance.choice([chance.randrange(1 << 31), 7]) or 1 for _ in range(5000)]
    found = read(Form.CONFLUENT, *(b"\0" + number.to_bytes(4, "big") + b"x" for number in ids))
    names = found.names[FrameKind.ID]
    assert [int.from_bytes(names[n], "big") for n in found.schemas.tolist()] == ids
    assert len(names) == len({*ids})
