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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.value_codec.frames.forms import Form
from seglake.value_codec.kernels.arguments import grouped_heads
from seglake.value_codec.reject_reasons import RejectReason

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

_NAMES = {
    Form.CONFLUENT: {FrameKind.ID: (1, 5), FrameKind.GUID: (1, 17)},
    Form.SINGLE_OBJECT: {FrameKind.FINGERPRINT: (2, 10)},
    Form.APICURIO: {FrameKind.ID: (1, 9)},
    Form.GLUE: {FrameKind.GUID: (2, 18), FrameKind.ZLIB_GUID: (2, 18)},
}
"""First byte of the schema's name and the byte after it, in frames of each form and kind."""

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
            without a name.
        sizes: number of bytes of a frame, by kind.
        name_at: position of the name in a frame.
    """

    kinds: NDArray[np.int8]
    names: dict[FrameKind, list[bytes]]
    schemas: NDArray[np.int64]
    sizes: dict[FrameKind, int]
    name_at: int

    def rows_of(self, kind: FrameKind) -> list[NDArray[np.int64]]:
        """Return the indexes of the values of each schema of a kind, in the order of `names`."""
        chosen = np.flatnonzero(self.kinds == kind)
        count = len(self.names.get(kind, ()))
        if count == 1:  # as in most topics
            return [chosen]
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
    >>> found.names[FrameKind.ID][0].hex(), found.sizes[FrameKind.ID]
    ('0000001f', 5)
    """
    spans = _NAMES[form]
    sizes = {kind: end for kind, (_, end) in spans.items()}
    name_at = next(iter(spans.values()))[0]
    groups, heads = _heads(form, data, starts, ends)
    kinds = np.append(_kinds(form, heads), np.int8(FrameKind.NO_FRAME))  # index -1: no head
    names, numbers = {}, np.zeros(len(kinds), np.int64)
    for kind, (begin, end) in spans.items():
        found = np.flatnonzero(kinds == kind)
        if len(found):
            names[kind] = [heads[head, begin:end].tobytes() for head in found.tolist()]
            numbers[found] = np.arange(len(found))
    return Frames(kinds[groups], names, numbers[groups], sizes, name_at)


def _kinds(form: Form, heads: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Return the FrameKind of each head of frames."""
    first, second = heads[:, 0], heads[:, 1]
    match form:
        case Form.SINGLE_OBJECT:
            are = [(first == 0xC3) & (second == 1)]
            of = [FrameKind.FINGERPRINT, FrameKind.BAD_MAGIC]
        case Form.APICURIO:
            are = [first != 0, _are_ids(heads[:, 1:9], ">u8")]
            of = [FrameKind.BAD_MAGIC, FrameKind.ID, FrameKind.NO_FRAME]
        case Form.GLUE:
            are = [first != 3, second == _GLUE_PLAIN, second == _GLUE_ZLIB]
            of = [
                *(FrameKind.BAD_MAGIC, FrameKind.GUID, FrameKind.ZLIB_GUID),
                FrameKind.BAD_COMPRESSION,
            ]
        case _:
            are = [first > 1, first == 1, _are_ids(heads[:, 1:5], ">u4")]
            of = [FrameKind.BAD_MAGIC, FrameKind.GUID, FrameKind.ID, FrameKind.NO_FRAME]
    return np.select(are, of[:-1], of[-1]).astype(np.int8)


def _are_ids(numbers: NDArray[np.uint8], kind: str) -> NDArray[np.bool_]:
    """Return whether numbers are above 0 and have at most 31 bits."""
    ids = np.ascontiguousarray(numbers).view(kind)[:, 0]
    found: NDArray[np.bool_] = (ids > 0) & (ids <= _GREATEST_ID)
    return found


def _heads(
    form: Form, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the number of each value's head, -1 if it is too short, and the distinct heads."""
    least, most = min(size for _, size in _NAMES[form].values()), 18
    sizes = np.full(256, least, np.int64)
    if form is Form.CONFLUENT:
        sizes[1] = _NAMES[form][FrameKind.GUID][1]
    groups, firsts = grouped_heads(data, starts, ends, sizes)
    places = firsts[:, None] + np.arange(most)
    # The last head may end with the data.
    return groups, data[np.minimum(places, len(data) - 1)]
