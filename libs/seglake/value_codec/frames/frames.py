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

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from seglake.value_codec.bodies import Bodies
from seglake.value_codec.frames.forms import Form
from seglake.value_codec.kernels.arguments import grouped_heads
from seglake.value_codec.reject_reasons import RejectReason

MAGIC_BYTES = {
    Form.CONFLUENT: b"\x00\x01",
    Form.SINGLE_OBJECT: b"\xc3",
    Form.APICURIO: b"\x00",
    Form.GLUE: b"\x03",
}
"""First bytes of the frames of each form."""

_SIZES = {Form.CONFLUENT: 5, Form.SINGLE_OBJECT: 10, Form.APICURIO: 9, Form.GLUE: 18}
_GUID_SIZE = 17  # of Confluent's other frame, which begins with 1
_MOST_BYTES = max(_SIZES.values())
_GREATEST_ID = (1 << 31) - 1
_GLUE_PLAIN, _GLUE_ZLIB = 0, 5


class Frame(NamedTuple):
    """Frame of a key or a value.

    Attributes:
        name: the schema, for a person: `id 7`, `GUID …` or `fingerprint …`; "" if the frame names
            none.
        size: number of bytes; 0 without a name.
        decided_at: position of the name, or of the byte that decides that there is none.
        problem: why the frame names no schema.
        is_packed: whether the body is compressed.
    """

    name: str = ""
    size: int = 0
    decided_at: int = 0
    problem: RejectReason | None = None
    is_packed: bool = False


_BAD_MAGIC = Frame(problem=RejectReason.BAD_MAGIC)
_NO_FRAME = Frame(problem=RejectReason.NO_FRAME)


def frames(form: Form, found: Bodies) -> Iterator[tuple[Frame, NDArray[np.int64]]]:
    """Yield the distinct frames at the start of values, each with the indexes of its values.

    Args:
        form: CONFLUENT, SINGLE_OBJECT, GLUE or APICURIO.
        found: the values.

    >>> value = np.frombuffer(bytes.fromhex("000000001f0a"), np.uint8)
    >>> [(found, rows)] = frames(Form.CONFLUENT, Bodies(value, np.array([0]), np.array([6])))
    >>> found.name, found.size, rows.tolist()
    ('id 31', 5, [0])
    """
    sizes = np.full(256, _SIZES[form], np.int64)
    if form is Form.CONFLUENT:
        sizes[1] = _GUID_SIZE
    groups, firsts = grouped_heads(found, sizes)
    # The last head may end with the data.
    places = np.minimum(firsts[:, None] + np.arange(_MOST_BYTES), len(found.data) - 1)
    heads = found.data[places]
    known = {_BAD_MAGIC: 0, _NO_FRAME: 1}
    numbers = np.zeros(len(heads) + 1, np.int64)
    numbers[-1] = 1  # of values that are too short for a head
    for index in np.flatnonzero(np.isin(heads[:, 0], [*MAGIC_BYTES[form]])).tolist():
        frame = _frame(form, heads[index].tobytes())
        numbers[index] = known.setdefault(frame, len(known))
    of_values = numbers[groups]
    order = np.argsort(of_values, kind="stable")
    ends = np.cumsum(np.bincount(of_values, minlength=len(known)))
    for frame, rows in zip(known, np.split(order, ends[:-1]), strict=True):
        if len(rows):
            yield frame, rows


def _frame(form: Form, head: bytes) -> Frame:
    """Return the frame at the start of a value that has the first byte of its form."""
    size = _SIZES[form]
    match form:
        case Form.CONFLUENT if head[0] == 1:
            return Frame(f"GUID {UUID(bytes=head[1:_GUID_SIZE])}", _GUID_SIZE, 1)
        case Form.CONFLUENT | Form.APICURIO:
            number = int.from_bytes(head[1:size], "big")
            if 0 < number <= _GREATEST_ID:
                return Frame(f"id {number}", size, 1)
            return Frame(problem=RejectReason.UNKNOWN_SCHEMA_ID, decided_at=1)
        case Form.SINGLE_OBJECT if head[1] == 1:
            return Frame(f"fingerprint {head[2:size][::-1].hex()}", size, 2)
        case Form.GLUE if head[1] in (_GLUE_PLAIN, _GLUE_ZLIB):
            name = f"GUID {UUID(bytes=head[2:size])}"
            return Frame(name, size, 2, is_packed=head[1] == _GLUE_ZLIB)
        case Form.GLUE:
            return Frame(problem=RejectReason.COMPRESSED_FRAME_BAD, decided_at=1)
    return _BAD_MAGIC
