"""Protobuf whose lists need much memory is read in parts, or rejected before it is parsed."""

import pyarrow as pa
import pytest

from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.decoded import TooManyItemsError
from seglake.value_codec.protobuf import value_reader
from seglake.value_codec.protobuf.schema_messages import SchemaMessages
from seglake.value_codec.reject_reasons import RejectReason
from support.value_parts import decoded_parts

_FIELDS = " ".join(f"int64 f{number} = {number + 1};" for number in range(200))
_WIDE = f"message M {{ {_FIELDS} }}"
_LARGE, _SHORT = RejectReason.TOO_LARGE.code, RejectReason.SHORT.code


@pytest.mark.parametrize(
    ("fields", "item"),
    [
        ("repeated M m = 1;", b"\x0a\x00"),
        ("map<int32, M> m = 1;", b"\x0a\x02\x08%c"),
        ("message N { M m = 1; } repeated N n = 1;", b"\x0a\x00"),
    ],
    ids=["list", "map", "list of messages with one"],
)
def test_lists_of_wide_messages_are_read_in_parts_or_rejected(
    fields: str, item: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SchemaMessages(f'syntax = "proto3"; message A {{ {fields} }} {_WIDE}', {}).at((0,))
    assert found is not None
    items = [item % (number % 128) if b"%" in item else item for number in range(3000)]
    many, few, cut = b"".join(items), items[0], b"\x0a\x05"
    bodies = [few, many, cut, many, b"", many + b"\x80"]
    data = bodies_of_bytes(bodies)
    whole = found[1].read(data)
    assert whole.reasons.tolist() == [0, 0, _SHORT, 0, 0, _SHORT]
    sizes = [whole.values.slice(row, 1).nbytes for row in range(len(bodies))]
    monkeypatch.setattr(value_reader, "MOST_BYTES", 6_000_000)
    if sum(sizes) > 6_000_000:  # keys of maps that occur twice are one entry
        with pytest.raises(TooManyItemsError):
            found[1].read(data)
    parts = decoded_parts(found[1], data)
    assert pa.concat_arrays([part.values for part in parts]).equals(whole.values)
    monkeypatch.setattr(value_reader, "MOST_BYTES", 1_000_000)
    parts = decoded_parts(found[1], data)
    outcomes = [code for part in parts for code in part.reasons.tolist()]
    assert outcomes == [0, _LARGE, _SHORT, _LARGE, 0, _LARGE]
