"""Reads the frames of keys and values: which schema wrote each, and where its body begins.

| form | bytes |
| --- | --- |
| Confluent | `00`, int32 schema id (big-endian, above 0), body |
| | `01`, GUID of 16 bytes, body |
| | the same without a body, in the record's header `__value_schema_id` or `__key_schema_id` |
| single object | `C3 01`, CRC-64-AVRO of the schema (little-endian), body |
| Apicurio | `00`, int64 schema id (big-endian, above 0), body; with ids of 4 bytes as Confluent |
| Glue | `03`, compression (`00` none, `05` zlib), UUID of 16 bytes, body |

Sources: confluentinc/schema-registry 794611b, SchemaId, DualSchemaIdDeserializer: of several
headers the last one counts, and without a header the value's own bytes. Apache Avro 1.12,
specification, "Single-object encoding". awslabs/aws-glue-schema-registry eed1506b,
AWSSchemaRegistryConstants. Apicurio/apicurio-registry b40e0173, Default4ByteIdHandler,
Legacy8ByteIdHandler.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.frames.forms import Form
from seglake.value_codec.reject_reasons import RejectReason

_LONG_ID_BYTES = 9
_ID_BYTES, _GUID_BYTES, _SINGLE_BYTES, _GLUE_BYTES = 5, 17, 10, 18
_GLUE_PLAIN, _GLUE_ZLIB = 0, 5


class FrameKind(IntEnum):
    """Kinds of a frame, by what names the schema; the last three name none."""

    ID = 0
    GUID = 1
    FINGERPRINT = 2
    ZLIB_GUID = 3  # the body is compressed, too
    NO_FRAME = 4
    BAD_MAGIC = 5
    BAD_COMPRESSION = 6


MAGIC_BYTES = {
    Form.CONFLUENT: b"\x00\x01",
    Form.SINGLE_OBJECT: b"\xc3",
    Form.APICURIO: b"\x00",
    Form.GLUE: b"\x03",
}
"""First bytes of the frames of each form."""

NAMED = (FrameKind.ID, FrameKind.GUID, FrameKind.FINGERPRINT, FrameKind.ZLIB_GUID)
"""Kinds of frames that name a schema."""

FRAME_REJECTS = {
    FrameKind.NO_FRAME: RejectReason.NO_FRAME,
    FrameKind.BAD_MAGIC: RejectReason.BAD_MAGIC,
    FrameKind.BAD_COMPRESSION: RejectReason.COMPRESSED_FRAME_BAD,
}
"""Reason to reject a value whose frame names no schema, by the kind of frame."""


class Frames(NamedTuple):
    """Frames of many keys or values.

    Attributes:
        kinds: a FrameKind for each key or value.
        names: for each kind that names schemas, the distinct bytes of the names.
        schemas: for each key or value, the index of its schema's name among those of its kind; 0
            without a frame.
        sizes: number of bytes of each frame; 0 without one.
        name_at: position of the name in a frame.
    """

    kinds: NDArray[np.int8]
    names: dict[FrameKind, list[bytes]]
    schemas: NDArray[np.int64]
    sizes: NDArray[np.int64]
    name_at: int

    def rows_of(self, kind: FrameKind) -> list[NDArray[np.int64]]:
        """Return the indexes of the values of each schema of a kind, in the order of `names`."""
        chosen = np.flatnonzero(self.kinds == kind)
        count = len(self.names.get(kind, ()))
        order = chosen[np.argsort(self.schemas[chosen], kind="stable")]
        ends = np.cumsum(np.bincount(self.schemas[chosen], minlength=count))
        return np.split(order, ends[:-1]) if count else []


def frames(
    form: Form, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> Frames:
    """Return the frames at the start of values.

    Args:
        form: CONFLUENT, SINGLE_OBJECT, GLUE or APICURIO.
        data: bytes of all values.
        starts: index of each value's first byte.
        ends: index after each value's last byte, at most the size of the data.

    >>> value = np.frombuffer(bytes.fromhex("000000001f0a"), np.uint8)
    >>> found = frames(Form.CONFLUENT, value, np.array([0]), np.array([6]))
    >>> found.names[FrameKind.ID][0].hex(), found.sizes.tolist()
    ('0000001f', [5])
    """
    lengths = ends - starts
    first, second = _byte(data, starts, lengths, 0), _byte(data, starts, lengths, 1)
    kinds = np.full(len(starts), FrameKind.NO_FRAME, np.int8)
    match form:
        case Form.SINGLE_OBJECT:
            is_long = lengths >= _SINGLE_BYTES
            is_magic = (first == 0xC3) & (second == 1)
            kinds[is_long & ~is_magic] = FrameKind.BAD_MAGIC
            kinds[is_long & is_magic] = FrameKind.FINGERPRINT
            spans = {FrameKind.FINGERPRINT: (2, _SINGLE_BYTES)}
        case Form.APICURIO:
            is_long = lengths >= _LONG_ID_BYTES
            kinds[is_long & (first != 0)] = FrameKind.BAD_MAGIC
            framed = np.flatnonzero(is_long & (first == 0))
            kinds[framed[_have_id(data, starts[framed], _LONG_ID_BYTES)]] = FrameKind.ID
            spans = {FrameKind.ID: (1, _LONG_ID_BYTES)}
        case Form.GLUE:
            is_long = lengths >= _GLUE_BYTES
            kinds[is_long] = FrameKind.BAD_COMPRESSION
            kinds[is_long & (second == _GLUE_PLAIN)] = FrameKind.GUID
            kinds[is_long & (second == _GLUE_ZLIB)] = FrameKind.ZLIB_GUID
            kinds[is_long & (first != 3)] = FrameKind.BAD_MAGIC
            spans = dict.fromkeys((FrameKind.GUID, FrameKind.ZLIB_GUID), (2, _GLUE_BYTES))
        case _:
            is_long = lengths >= _ID_BYTES
            kinds[is_long & (first > 1)] = FrameKind.BAD_MAGIC
            kinds[(lengths >= _GUID_BYTES) & (first == 1)] = FrameKind.GUID
            framed = np.flatnonzero(is_long & (first == 0))
            kinds[framed[_have_id(data, starts[framed], _ID_BYTES)]] = FrameKind.ID
            spans = {FrameKind.ID: (1, _ID_BYTES), FrameKind.GUID: (1, _GUID_BYTES)}
    return _with_names(kinds, spans, data, starts)


def _have_id(data: NDArray[np.uint8], starts: NDArray[np.int64], end: int) -> NDArray[np.bool_]:
    """Return whether frames have an id above 0 of at most 31 bits; `end` is its end in a frame."""
    ids = _heads(data, starts + 1, end - 1)
    found: NDArray[np.bool_] = ~ids[:, :-4].any(axis=1) & (ids[:, -4] < 0x80) & ids.any(axis=1)
    return found


def _heads(data: NDArray[np.uint8], starts: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    """Return, for each index of a start, so many bytes from there: a row of an array."""
    if not len(starts):
        return np.zeros((0, size), np.uint8)
    # One item for each byte of the data, which begins there: a copy of items is quick.
    items = np.ndarray(len(data) - size + 1, f"V{size}", np.ascontiguousarray(data), strides=(1,))
    return items[starts].view(np.uint8).reshape(-1, size)


def _byte(
    data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64], at: int
) -> NDArray[np.int64]:
    """Return the byte at an index of each value; -1 if the value is too short."""
    found = np.full(len(starts), -1, np.int64)
    is_there = lengths > at
    found[is_there] = data[starts[is_there] + at]
    return found


def _with_names(
    kinds: NDArray[np.int8],
    spans: dict[FrameKind, tuple[int, int]],
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
) -> Frames:
    """Collect the distinct schema names; `spans` has a name's place in the frames of a kind."""
    schemas, sizes = np.zeros((2, len(starts)), np.int64)
    names = {}
    for kind, (begin, end) in spans.items():
        rows = np.flatnonzero(kinds == kind)
        sizes[rows] = end
        # Any: numpy's stubs hide Python's buffers, and pyarrow's have no dictionaries of bytes.
        content: Any = _heads(data, starts[rows] + begin, end - begin)
        buffers = [None, pa.py_buffer(content)]
        found: Any = pa.Array.from_buffers(pa.binary(end - begin), len(rows), buffers)
        encoded = found.dictionary_encode()
        schemas[rows] = encoded.indices
        names[kind] = encoded.dictionary.to_pylist()
    return Frames(kinds, names, schemas, sizes, next(iter(spans.values()))[0])
