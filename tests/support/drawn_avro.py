"""Draws Avro schemas and values for hypothesis, as fastavro takes them."""

from typing import Any

from hypothesis import strategies as st

# Any: schemas and values are JSON of every shape.
Schema = Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
UNITS = {"millis": "ms", "micros": "us", "nanos": "ns"}
INT_TYPES = [
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    *({"type": "long", "logicalType": f"timestamp-{unit}"} for unit in UNITS),
    *({"type": "long", "logicalType": f"local-timestamp-{unit}"} for unit in UNITS),
]
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 3}
BYTES_TYPES = [DECIMAL, {**DECIMAL, "precision": 39}, {"type": "string", "logicalType": "uuid"}]
_FIXED = {"type": "fixed", "size": 16}
FIXED_TYPES = [
    {**_FIXED, "logicalType": "uuid"},
    {**_FIXED, "logicalType": "decimal", "precision": 38, "scale": 38},
    {"type": "fixed", "size": 12, "logicalType": "duration"},
    {"type": "fixed", "size": 0},
]
# fastavro reads on where the specification has no value.
STRICTER = {"bad_boolean", "bad_varint", "bad_enum", "bad_union_branch", "too_large"}


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3) -> Schema:
    """Schemas of all types; names are given by `named`."""
    leaves = [
        *PRIMITIVES,
        *INT_TYPES,
        *BYTES_TYPES,
        *FIXED_TYPES,
        {"type": "enum", "symbols": ["A", "B"]},
    ]
    kinds = [*leaves, *(["record", "array", "map", "optional", "union"] * 5 * bool(depth))]
    match kind := draw(st.sampled_from(kinds)):
        case "record":
            inner = draw(st.lists(schemas(depth - 1), max_size=4))
            members = [{"name": f"f{index}", "type": each} for index, each in enumerate(inner)]
            return {"type": "record", "fields": members}
        case "array":
            return {"type": "array", "items": draw(schemas(depth - 1))}
        case "map":
            return {"type": "map", "values": draw(schemas(depth - 1))}
        case "optional":
            inner = draw(
                schemas(depth - 1).filter(lambda each: each != "null" and not _is_union(each))
            )
            return draw(st.permutations(["null", inner]))
        case "union":
            others = draw(st.lists(st.sampled_from(PRIMITIVES), max_size=3, unique=True))
            named_types = [{"type": "record", "fields": []}, FIXED_TYPES[0], FIXED_TYPES[2]]
            return [*others, *draw(st.lists(st.sampled_from(named_types), min_size=1, max_size=2))]
    return kind


def _is_union(schema: Schema) -> bool:
    return isinstance(schema, list)


def named(schema: Schema, numbers: list[int]) -> Schema:
    """The schema with a name for each type that needs one."""
    match schema:
        case {"type": "enum" | "fixed" | "record"}:
            numbers.append(len(numbers))
            own = {**schema, "name": f"N{len(numbers)}"}
            if "fields" in schema:
                own["fields"] = [{**f, "type": named(f["type"], numbers)} for f in schema["fields"]]
            return own
        case {"items": items}:
            return {**schema, "items": named(items, numbers)}
        case {"values": inner}:
            return {**schema, "values": named(inner, numbers)}
        case list():
            return [named(each, numbers) for each in schema]
    return schema


def without_logical(schema: Schema) -> Schema:
    """The schema whose values are plain: fastavro gives numbers and bytes."""
    match schema:
        case dict():
            return {k: without_logical(v) for k, v in schema.items() if k != "logicalType"}
        case list():
            return [without_logical(each) for each in schema]
    return schema


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Values of a schema without logical types; of unions, with the branch."""
    match schema:
        case {"type": "record", "fields": members}:
            return st.fixed_dictionaries({m["name"]: values(m["type"]) for m in members})
        case {"items": items}:
            return st.lists(values(items), max_size=4)
        case {"values": inner}:
            return st.dictionaries(st.text(max_size=3), values(inner), max_size=3)
        case {"symbols": symbols}:
            return st.sampled_from(symbols)
        case {"size": size}:
            return st.binary(min_size=size, max_size=size)
        case {"type": kind}:
            return values(kind)
        case list():
            return st.one_of([st.tuples(st.just(name_of(e)), values(e)) for e in schema])
    plain: dict[str, st.SearchStrategy[Any]] = {
        "null": st.none(),
        "boolean": st.booleans(),
        "int": st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(-(10**6), 10**6),
        "long": st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-(10**12), 10**12),
        "float": st.floats(width=32),
        "double": st.floats(),
        "bytes": st.binary(max_size=20),
        "string": st.text(max_size=8),
    }
    return plain[schema]


def name_of(schema: Schema) -> str:
    match schema:
        case {"name": name}:
            return str(name)
        case {"type": kind}:
            return str(kind)
    return str(schema)
