"""Bodies are grouped by the schema that their frames name; what has no body says why."""

import zlib

import numpy as np
import pytest

from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.frames import glue_bodies
from seglake.value_codec.frames import schema_groups as schema_groups_module
from seglake.value_codec.frames.forms import Form
from seglake.value_codec.frames.schema_groups import GroupContext, SchemaGroup, schema_groups
from seglake.value_codec.registry.schema_files import listed_registrations
from seglake.value_codec.registry.schema_registry import SchemaRegistry
from seglake.value_codec.schema_readers import SchemaReaders

_GUID = "a5eccca4-62dd-1295-09aa-5bb6447f9bf1"
_LISTED = (
    f'[{{"SchemaVersionId": "{_GUID}", "DataFormat": "AVRO", "VersionNumber": 1,'
    ' "SchemaArn": "arn:aws:glue:eu-west-1:1:schema/plant/sensor",'
    ' "SchemaDefinition": "\\"string\\""},'
    ' {"subject": "s", "version": 1, "id": 7, "schema": "\\"string\\"",'
    f' "guid": "{_GUID[:-1]}2"}},'
    f' {{"SchemaVersionId": "{_GUID[:-1]}3", "DataFormat": "PROTOBUF", "VersionNumber": 1,'
    ' "SchemaName": "p", "SchemaDefinition": "syntax = \\"proto3\\"; package p;'
    " message B { message C {} message A { message D {} } int32 x = 1; }"
    ' message E { map<string, int32> m = 1; }"}]'
)
_GLUE = bytes.fromhex(_GUID.replace("-", ""))


def groups(
    form: Form, values: list[bytes], headers: dict[int, bytes] | None = None
) -> list[SchemaGroup]:
    registry = SchemaRegistry()
    for given in listed_registrations(_LISTED.encode()):
        registry.supplement(given)
    context = GroupContext(form, SchemaReaders(registry), ".")
    return [*schema_groups(bodies_of_bytes(values), headers or {}, context)]


def bodies(group: SchemaGroup) -> list[bytes]:
    data, starts, ends = group.bodies
    return [data[a:b].tobytes() for a, b in zip(starts, ends, strict=True)]


def test_each_value_is_in_one_group_with_the_bytes_after_its_frame() -> None:
    values = [b"\x00\x00\x00\x00\x07\x02a", b"x", b"\x00\x00\x00\x00\x08", b"\x02b", b"12345"]
    found = groups(Form.CONFLUENT, values, {3: b"\x00\x00\x00\x00\x07"})
    assert sorted(row for group in found for row in group.rows.tolist()) == [0, 1, 2, 3, 4]
    read = {group.rows[0]: (bodies(group)[0], group.frame_bytes[0]) for group in found}
    assert (read[0], read[3]) == ((b"\x02a", 5), (b"\x02b", 0))
    faults = {g.rows[0]: (g.use.problem, g.problem_at) for g in found if g.use.problem}
    assert faults == {1: ("no_frame", 0), 2: ("unknown_schema_id", 1), 4: ("bad_magic", 0)}


def test_a_header_that_names_no_schema_rejects_its_value_without_a_position() -> None:
    [group] = groups(Form.CONFLUENT, [b"\x00\x00\x00\x00\x07\x02a"], {0: b"\x00\x00\x00\x00\x08"})
    assert (group.use.problem, group.problem_at) == ("unknown_schema_id", -1)


def test_a_list_may_give_a_schema_a_guid() -> None:
    [group] = groups(Form.CONFLUENT, [b"\x01" + _GLUE[:-1] + b"\xf2\x02a"])
    assert (group.use.schema_id, bodies(group)) == (7, [b"\x02a"])


def test_bodies_of_glue_are_decompressed_and_a_damaged_one_does_not_disturb_others() -> None:
    streams = [zlib.compress(b"\x02a"), b"no zlib", zlib.compress(b"\x02b")[:-1]]
    streams += [zlib.compress(b"\x02c") + b"!", zlib.compress(b"\x02d")]
    found = groups(Form.GLUE, [b"\x03\x05" + _GLUE + stream for stream in streams])
    sound = [group for group in found if group.use.problem is None]
    assert [(g.rows.tolist(), bodies(g), g.frame_bytes.tolist()) for g in sound] == [
        ([0, 4], [b"\x02a", b"\x02d"], [0, 0])
    ]
    [bad] = [group for group in found if group.use.problem]
    assert (bad.use.problem, bad.rows.tolist()) == ("compressed_frame_bad", [1, 2, 3])


def test_decompression_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glue_bodies, "MOST_BODY_BYTES", 1000)
    monkeypatch.setattr(schema_groups_module, "_BATCH_BYTES", 1500)
    sizes = [1000, 1001, 900, 800, 10_000_000]
    values = [b"\x03\x05" + _GLUE + zlib.compress(bytes(size)) for size in sizes]
    found = groups(Form.GLUE, values)
    large = [row for g in found if g.use.problem == "too_large" for row in g.rows.tolist()]
    assert large == [1, 4]
    assert max(len(group.bodies.data) for group in found if not group.use.problem) == 1900
    rows = np.concatenate([group.rows for group in found if not group.use.problem])
    assert rows.tolist() == [0, 2, 3]


@pytest.mark.parametrize("is_compressed", [False, True])
def test_glue_counts_the_messages_of_a_schema_in_the_order_of_their_names(
    is_compressed: bool,
) -> None:
    names = ["p.B", "p.B.A", "p.B.A.D", "p.B.C", "p.E", "p.E.MEntry"]
    texts = [bytes([index]) + b"\x08\x05" for index in range(7)]
    packed = [zlib.compress(text) if is_compressed else text for text in [*texts, b"", b"\x80"]]
    frame = b"\x03" + (b"\x05" if is_compressed else b"\x00") + _GLUE[:-1] + b"\xf3"
    found = groups(Form.GLUE, [frame + text for text in packed])
    read = {row: (g.use.problem or g.use.name, bodies(g)) for g in found for row in g.rows.tolist()}
    expected = {row: (f"PROTOBUF {name}", [b"\x08\x05"]) for row, name in enumerate(names)}
    assert {row: read[row] for row in expected} == expected
    assert [read[row][0] for row in (6, 7, 8)] == ["bad_message_index", "short", "short"]


def test_schemas_of_connect_that_say_the_same_are_one_group() -> None:
    schemas = [f'{{"type":"int32","doc":"{number}"}}' for number in range(3)]
    texts = [*schemas, '{"type":"string"}', schemas[0], '{"type":"none"}', "{}"]
    values = [f'{{"schema":{text},"payload":null}}'.encode() for text in texts]
    readers = SchemaReaders(SchemaRegistry())
    context = GroupContext(Form.CONNECT_JSON, readers, ".")
    groups = [*schema_groups(bodies_of_bytes(values), {}, context)]
    assert [group.rows.tolist() for group in groups] == [[0, 1, 2, 4], [3], [5, 6]]
    known = context._replace(columns={groups[1].name})
    names = [(g.name, g.rows.tolist()) for g in schema_groups(bodies_of_bytes(values), {}, known)]
    assert names == [("", [0, 1, 2, 4]), (groups[1].name, [3]), ("", [5, 6])]
