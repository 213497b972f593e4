"""What fastavro reads decodes, and other bytes are rejected, for drawn schemas."""

import io
import json

import fastavro
from hypothesis import given, settings
from hypothesis import strategies as st

from seglake.value_codec.avro.schema_types import parsed_schema
from seglake.value_codec.avro.value_reader import AvroReader
from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.reject_reasons import RejectReason
from support.drawn_avro import STRICTER, Schema, named, schemas, values, without_logical


def by_fastavro(schema: Schema, body: bytes) -> bool:
    """Whether fastavro reads the bytes to their end."""
    stream = io.BytesIO(body)
    try:
        fastavro.schemaless_reader(stream, schema, None)
    except (EOFError, IndexError, ValueError, OverflowError, TypeError, MemoryError, KeyError):
        return False
    return stream.tell() == len(body)


def by_seglake(schema: Schema, body: bytes) -> str:
    """Why the bytes do not decode; "" if they do."""
    reader = AvroReader(parsed_schema(json.dumps(schema), {}), is_raw_bytes=False)
    [code] = reader.read(bodies_of_bytes([body])).reasons.tolist()
    return RejectReason.of_code(code) if code else ""


@st.composite
def written(draw: st.DrawFn) -> tuple[Schema, bytes]:
    """A schema, and the bytes that fastavro writes of a value."""
    schema = without_logical(named(draw(schemas()), []))
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), draw(values(schema)))
    return schema, stream.getvalue()


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Schema, bytes]:
    """A schema, and bytes that were cut, changed or grown."""
    schema, body = draw(written())
    content = bytearray(body)
    match draw(st.sampled_from(["cut", "flip", "grow"])):
        case "cut" if content:
            del content[draw(st.integers(0, len(content) - 1)) :]
        case "flip" if content:
            content[draw(st.integers(0, len(content) - 1))] ^= 1 << draw(st.integers(0, 7))
        case _:
            at = draw(st.integers(0, len(content)))
            content[at:at] = draw(st.binary(min_size=1, max_size=3))
    return schema, bytes(content)


@settings(max_examples=400)
@given(written())
def test_what_fastavro_writes_decodes(drawn: tuple[Schema, bytes]) -> None:
    assert by_seglake(*drawn) == ""


@settings(max_examples=600)
@given(damaged())
def test_damaged_bytes_decode_only_if_fastavro_reads_them(drawn: tuple[Schema, bytes]) -> None:
    reason = by_seglake(*drawn)
    if by_fastavro(*drawn):
        assert reason in {"", *STRICTER}
    else:
        assert reason
