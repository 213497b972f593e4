"""Schemas of Protobuf are compiled without leaving a trace; messages are found by their indexes."""

import gc
from base64 import b64encode
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.protobuf.compiler import ProtoTextError, known_imports
from seglake.value_codec.protobuf.message_paths import PathFault, message_paths
from seglake.value_codec.protobuf.schema_messages import SchemaMessages
from seglake.value_codec.reject_reasons import RejectReason

_HEAD = 'syntax = "proto3"; package p; '
_NESTED = _HEAD + "message A { message B { int32 x = 1; } } message C { message D { A a = 1; } }"


@pytest.mark.parametrize(
    ("path", "name"),
    [((0,), "p.A"), ((0, 0), "p.A.B"), ((1, 0), "p.C.D"), ((2,), None), ((0, 0, 0), None)],
)
def test_indexes_lead_to_a_message_or_to_none(path: tuple[int, ...], name: str | None) -> None:
    found = SchemaMessages(_NESTED, {}).at(path)
    assert (found and found[0]) == name


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("no schema", {}),
        (_HEAD + "message A { B b = 1; }", {}),
        (_HEAD + 'import "gone.proto";', {}),
        (_HEAD, {"../out.proto": _HEAD}),
        (_HEAD, {"/tmp/out.proto": _HEAD}),
        (_HEAD, {"a/../../out.proto": _HEAD}),
        (_HEAD, {"": _HEAD}),
        (_HEAD, {"n" * 300: _HEAD}),
        (_HEAD + 'import "a.proto";', {"a.proto": "no schema"}),
    ],
)
def test_a_text_that_is_no_schema_is_an_error(
    text: str, imports: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ProtoTextError):
        SchemaMessages(text, imports)
    assert list(tmp_path.iterdir()) == []


def serialized(package: str, imports: Mapping[str, str]) -> str:
    """A schema as clients for Python register it: a message M with `x`, and a field per import.

    Args:
        package: the package of M.
        imports: types of the fields, by the paths of their files.
    """
    file = FileDescriptorProto(name="a/name.proto", package=package, syntax="proto3")
    file.dependency.extend(imports)
    fields = file.message_type.add(name="M").field
    fields.add(name="x", number=1, type=FieldDescriptorProto.TYPE_INT32)
    for number, type_name in enumerate(imports.values(), 2):
        fields.add(
            name=f"f{number}",
            number=number,
            type=FieldDescriptorProto.TYPE_MESSAGE,
            type_name=type_name,
        )
    return b64encode(file.SerializeToString()).decode()


def without_unknown(value: Any) -> Any:
    """A value without the columns for bytes of unknown fields, which must be null."""
    if not isinstance(value, dict):
        return value
    assert value.pop("_unknown") is None
    return {name: without_unknown(each) for name, each in value.items()}


_BELOW = {
    "text.proto": 'syntax = "proto3"; package q; import "d.proto"; message Q { r.R f2 = 1; }',
    "d.proto": 'syntax = "proto3"; package r; message R { int32 x = 1; }',
    "above.proto": serialized("s", {"below.proto": ".t.M", "text.proto": ".q.Q"}),
    "below.proto": serialized("t", {}),
}


def test_a_serialized_schema_is_compiled_with_its_imports() -> None:
    """Of Google's own files, of those that registries have, of texts and serialized ones."""
    text = serialized(
        "p",
        {
            "google/protobuf/duration.proto": ".google.protobuf.Duration",
            "google/type/date.proto": ".google.type.Date",
            "text.proto": ".q.Q",
            "above.proto": ".s.M",
        },
    )
    body = "0807 12020805 1a020806 22040a020808 2a08 12020809 1a020a00".replace(" ", "")
    [value] = decoded(text + "\n", body, imports=_BELOW)
    assert without_unknown(value) == {
        "x": 7,
        "f2": Decimal(5 * 10**9),
        "f3": {"year": 6, "month": 0, "day": 0},
        "f4": {"f2": {"x": 8}},
        "f5": {"x": 0, "f2": {"x": 9}, "f3": {"f2": {"x": 0}}},
    }


@pytest.mark.parametrize(
    ("imports", "given"),
    [
        ({"gone.proto": ".q.Q"}, {}),
        ({"text.proto": ".q.Gone"}, _BELOW),
        ({"a.proto": ".a.M"}, {"a.proto": serialized("a", {"a.proto": ".a.M"})}),
        ({"a.proto": ".a.M"}, {"a.proto": serialized("a", {"b.proto": ".b.M"})[:-4]}),
        ({"../a.proto": ".q.Q"}, {"../a.proto": _BELOW["d.proto"]}),
    ],
)
def test_a_serialized_schema_that_lacks_an_import_is_an_error(
    imports: dict[str, str], given: dict[str, str]
) -> None:
    with pytest.raises(ProtoTextError):
        SchemaMessages(serialized("p", imports), given)


@pytest.mark.parametrize("path", known_imports())
def test_a_file_that_registries_have_is_imported_without_a_reference(path: str) -> None:
    text = f'{_HEAD} import "{path}"; message A {{ int32 x = 1; }}'
    assert SchemaMessages(text, {}).at((0,)) is not None
    with pytest.raises(ProtoTextError):  # a file that the registry has counts
        SchemaMessages(text, {path: "no schema"})


def test_kafka_connect_s_types_have_columns() -> None:
    text = _HEAD + (
        'import "confluent/meta.proto"; import "confluent/type/decimal.proto";'
        ' import "google/type/date.proto"; import "google/type/timeofday.proto"; message A {'
        ' confluent.type.Decimal d = 1 [(confluent.field_meta) = { params: [{ key: "scale",'
        ' value: "2" }], tags: "PII" }]; google.type.Date e = 2; google.type.TimeOfDay f = 3; }'
    )
    [value] = decoded(text, "0a050a017b1802120508ea0f100b1a020807")
    found = {name: {k: v for k, v in value[name].items() if v} for name in "def"}
    assert found == {
        "d": {"value": b"{", "scale": 2},
        "e": {"year": 2026, "month": 11},
        "f": {"hours": 7},
    }


@pytest.mark.parametrize("start", ["", "\ufeff", "// syntax of old files\n", "package p; "])
def test_a_schema_that_states_no_syntax_is_proto2_and_no_warning_is_printed(
    start: str, capfd: pytest.CaptureFixture[str]
) -> None:
    found = SchemaMessages(start + "message A { required int32 x = 1; }", {}).at((0,))
    assert found is not None
    with pytest.raises(ProtoTextError):
        SchemaMessages('{"type": "int"}', {}).at((0,))
    assert capfd.readouterr() == ("", "")


def test_an_import_is_found_by_its_path_even_if_it_has_the_name_of_the_schema() -> None:
    other = 'syntax = "proto3"; package q; message Q { int32 x = 1; }'
    text = _HEAD + 'import "schema.proto"; import "d/e.proto"; message A { q.Q q = 1; r.R r = 2; }'
    imports = {"schema.proto": other, "d/e.proto": other.replace("q", "r").replace("Q", "R")}
    found = SchemaMessages(text, imports).at((0,))
    assert found is not None
    assert found[0] == "p.A"
    assert str(found[1].type).startswith("struct<q: struct<x: int32, ")


@pytest.mark.parametrize(
    ("head", "path", "size"),
    [
        ("00", (0,), 1),
        ("0202", (1,), 2),
        ("040204", (1, 2), 3),
        ("028001", (64,), 3),
        ("", PathFault(RejectReason.SHORT, 0), 0),
        ("02", PathFault(RejectReason.SHORT, 1), 0),
        ("0280", PathFault(RejectReason.SHORT, 1), 0),
        ("01", PathFault(RejectReason.BAD_VARINT, 0), 0),
        ("0201", PathFault(RejectReason.BAD_VARINT, 1), 0),
        ("ffffffff0f", PathFault(RejectReason.BAD_VARINT, 0), 0),
        ("ffffffffffff", PathFault(RejectReason.BAD_VARINT, 0), 0),
    ],
)
def test_message_indexes_are_zigzag_varints(head: str, path: object, size: int) -> None:
    found = message_paths(bodies_of_bytes([bytes.fromhex(head)]))
    assert (found.paths[found.indexes[0]], found.starts.tolist()) == (path, [size])


def test_a_message_in_itself_many_times_stays_small() -> None:
    fields = "".join(f"A f{n} = {n + 1};" for n in range(30))
    found = SchemaMessages(f"{_HEAD}message A {{ {fields} int64 x = 99; }}", {}).at((0,))
    assert found is not None
    assert len(str(found[1].type)) < 200_000
    read = found[1].read(bodies_of_bytes([bytes.fromhex("0a050a03980605")]))
    assert read.reasons.tolist() == [0]
    assert '"x":5' in str(read.values.to_pylist())


@pytest.mark.parametrize("field", ["optional string s = 1;", "map<string, int32> s = 1;"])
def test_a_text_that_is_no_utf8_is_a_reject_where_the_library_lets_it_pass(field: str) -> None:
    found = SchemaMessages(f'syntax = "proto2"; message A {{ {field} }}', {}).at((0,))
    assert found is not None
    is_map = field.startswith("map")
    bodies = [b"\x0a\x03\x0a\x01" + c if is_map else b"\x0a\x01" + c for c in (b"a", b"\xff")]
    read = found[1].read(bodies_of_bytes(bodies))
    assert read.reasons.tolist() == [0, RejectReason.BAD_UTF8.code]
    assert read.positions.tolist() == [0, len(bodies[0]) - 1]
    assert read.values.to_pylist() == [{"s": [("a", 0)] if is_map else "a", "_unknown": None}, None]


def test_a_varint_of_more_than_64_bits_is_no_fault_as_the_library_drops_them() -> None:
    text = 'syntax = "proto2"; message A { optional int64 n = 1; optional string s = 2; }'
    found = SchemaMessages(text, {}).at((0,))
    assert found is not None
    for body, codes in ((b"", [0]), (b"\x12\x01\xff", [RejectReason.BAD_UTF8.code])):
        content = b"\x08" + b"\xff" * 9 + b"\x41" + body
        found[1].message_class.FromString(content)
        read = found[1].read(bodies_of_bytes([content]))
        assert (read.reasons.tolist(), read.positions.tolist()) == (codes, [len(body) and 13])


# Any: a decoded value, of any type.
def decoded(text: str, *bodies: str, imports: Mapping[str, str] | None = None) -> list[Any]:
    """The values of bodies in hex digits; None for rejects."""
    found = SchemaMessages(text, imports or {}).at((0,))
    assert found is not None
    contents = bodies_of_bytes([bytes.fromhex(body) for body in bodies])
    return found[1].read(contents)[0].to_pylist()


@pytest.mark.parametrize("where", ["} extend A {", "extend A {"])
def test_extensions_are_kept_as_unknown_fields(where: str) -> None:
    end = "}" if where.startswith("}") else "} }"
    text = f'syntax = "proto2"; message A {{ optional int32 a = 1; extensions 100 to 200; {where}'
    [row] = decoded(f"{text} optional int32 e = 100; {end}", "0801a00607")
    assert row == {"a": 1, "_unknown": bytes.fromhex("a00607")}


def test_unknown_fields_keep_the_bytes_that_were_written() -> None:
    [row] = decoded(_HEAD + "message A { int32 a = 1; }", "0801c0be80008700")
    assert row == {"a": 1, "_unknown": bytes.fromhex("c0be80008700")}


def test_a_bad_text_that_a_later_one_replaces_does_not_depend_on_other_values() -> None:
    text = 'syntax = "proto2"; message A { optional string s = 1; }'
    replaced, bad, good = "0a01ff0a0161", "0a01ff", "0a0162"
    assert [row and row["s"] for row in decoded(text, replaced, bad, good)] == ["a", None, "b"]


def test_messages_that_would_be_huge_if_written_out_have_few_columns() -> None:
    pairs = "".join(f"message M{n} {{ M{n + 1} a = 1; M{n + 1} b = 2; }}" for n in range(60))
    found = SchemaMessages(f"{_HEAD}{pairs} message M60 {{ int32 x = 1; }}", {}).at((0,))
    assert found is not None
    assert len(str(found[1].type)) < 100_000
    chain = "".join(f"message M{n} {{ M{n + 1} m = 1; }}" for n in range(60))
    text = f"{_HEAD}{chain} message M60 {{ int32 x = 1; }}"
    [row] = decoded(text, "0a040a020a00")
    levels = 1
    while "m" in row:
        row, levels = row["m"] or {}, levels + 1
    assert levels == 5  # the row, three messages in it, and the missing one
    deep = SchemaMessages(text, {}).at((0,))
    assert deep is not None
    assert "m_json: string" in str(deep[1].type)


def test_a_chain_of_thousands_of_messages_is_no_schema() -> None:
    chain = "".join(f"message M{n} {{ M{n + 1} m = 1; }}" for n in range(3000))
    with pytest.raises(ProtoTextError, match="too deeply"):
        SchemaMessages(f"{_HEAD}{chain} message M3000 {{ int32 x = 1; }}", {})


@pytest.mark.parametrize("is_enabled", [True, False])
def test_reading_leaves_the_garbage_collector_as_it_was(is_enabled: bool) -> None:
    found = SchemaMessages(_HEAD + "message A { string x = 1; }", {}).at((0,))
    assert found is not None
    body = bodies_of_bytes([b"\x0a\x01x"])
    try:
        (gc.enable if is_enabled else gc.disable)()
        assert found[1].read(body).values.to_pylist() == [{"x": "x", "_unknown": None}]
        assert gc.isenabled() is is_enabled
    finally:
        gc.enable()
