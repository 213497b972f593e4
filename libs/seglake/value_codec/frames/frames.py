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

_GUID_BYTES, _SINGLE_BYTES, _GLUE_BYTES = 17, 10, 18
_LEAST_BYTES = {
    Form.CONFLUENT: 5,
    Form.SINGLE_OBJECT: _SINGLE_BYTES,
    Form.APICURIO: 9,
    Form.GLUE: _GLUE_BYTES,
}
_GREATEST_ID = (1 << 31) - 1
_GLUE_PLAIN, _GLUE_ZLIB = 0, 5


class FrameKind(IntEnum):
    """Kinds of a frame, by how it names the schema; the last three name no schema."""

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
    kinds = np.full(len(starts), FrameKind.NO_FRAME, np.int8)
    lengths = ends - starts
    rows = np.flatnonzero(lengths >= _LEAST_BYTES[form])
    heads = _heads(data, starts[rows], _LEAST_BYTES[form])
    first, second = heads[:, 0], heads[:, 1]
    spans = {FrameKind.ID: (1, _LEAST_BYTES[form])}
    match form:
        case Form.SINGLE_OBJECT:
            is_magic = (first == 0xC3) & (second == 1)
            kinds[rows] = np.where(is_magic, FrameKind.FINGERPRINT, FrameKind.BAD_MAGIC)
            spans = {FrameKind.FINGERPRINT: (2, _SINGLE_BYTES)}
        case Form.APICURIO:
            found = np.where(_are_ids(heads, ">u8"), FrameKind.ID, FrameKind.NO_FRAME)
            kinds[rows] = np.where(first == 0, found, FrameKind.BAD_MAGIC)
        case Form.GLUE:
            are = [first != 3, second == _GLUE_PLAIN, second == _GLUE_ZLIB]
            of = [FrameKind.BAD_MAGIC, FrameKind.GUID, FrameKind.ZLIB_GUID]
            kinds[rows] = np.select(are, of, FrameKind.BAD_COMPRESSION)
            spans = dict.fromkeys((FrameKind.GUID, FrameKind.ZLIB_GUID), (2, _GLUE_BYTES))
        case _:
            found = np.where(_are_ids(heads, ">u4"), FrameKind.ID, FrameKind.NO_FRAME)
            kinds[rows] = np.where(first <= 1, found, FrameKind.BAD_MAGIC)
            guids = rows[first == 1]
            has_guid = lengths[guids] >= _GUID_BYTES
            kinds[guids] = np.where(has_guid, FrameKind.GUID, FrameKind.NO_FRAME)
            spans[FrameKind.GUID] = 1, _GUID_BYTES
    return _with_names(kinds, spans, data, starts)


def _are_ids(heads: NDArray[np.uint8], kind: str) -> NDArray[np.bool_]:
    """Return whether a number after the first byte is above 0 and has at most 31 bits."""
    ids = heads[:, 1:].copy().view(kind)[:, 0]
    found: NDArray[np.bool_] = (ids > 0) & (ids <= _GREATEST_ID)
    return found


def _heads(data: NDArray[np.uint8], starts: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    """Return the `size` bytes from each start on, one row of an array for each."""
    if not len(starts):
        return np.zeros((0, size), np.uint8)
    # One item for each byte of the data, which begins there: a copy of items is quick.
    items = np.ndarray(len(data) - size + 1, f"V{size}", np.ascontiguousarray(data), strides=(1,))
    return items[starts].view(np.uint8).reshape(-1, size)


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
        if len(rows) and (content == content[0]).all():  # as in most topics
            names[kind] = [content[0].tobytes()]
            continue
        buffers = [None, pa.py_buffer(content)]
        found: Any = pa.Array.from_buffers(pa.binary(end - begin), len(rows), buffers)
        encoded = found.dictionary_encode()
        schemas[rows] = encoded.indices
        names[kind] = encoded.dictionary.to_pylist()
    return Frames(kinds, names, schemas, sizes, next(iter(spans.values()))[0])
