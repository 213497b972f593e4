"""Protobuf: Google's library reads each message as the columns say it, or both refuse it."""

import math
import random as randoms
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from google.protobuf.message import DecodeError

from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.protobuf.schema_messages import SchemaMessages
from seglake.value_codec.reject_reasons import RejectReason
from support.value_campaign.damage import damaged

_MESSAGES, _DAMAGED = 20, 60
_NUMBERS = (
    *("int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool"),
    *("fixed32", "fixed64", "sfixed32", "sfixed64"),
)
_SCALARS = (*_NUMBERS, "float", "double", "string", "bytes", "E")
_KEYS = ("int32", "uint64", "sint64", "fixed32", "bool", "string")
# Fields of all wire types that no schema has, one of them a group; and a bare tag.
_UNKNOWN = tuple(
    map(
        bytes.fromhex,
        ("c03e05", "c13e0102030405060708", "c53e01020304", "c23e026162", "c33e0801c43e", "c03e"),
    )
)


def protobuf_pairs(random: randoms.Random) -> Iterator[str]:
    """Yield for each message of one random schema how the readings differ; "" if they agree."""
    text = DrawnSchema(random).text()
    found = SchemaMessages(text, {}).at((0,))
    assert found is not None
    reader = found[1]
    bodies = [filled(random, reader.message_class(), 3) for _ in range(_MESSAGES)]
    for _ in range(_DAMAGED):
        one = random.choice(bodies)
        match random.choice(("damage", "damage", "merge", "unknown", "short")):
            case "merge":
                bodies.append(one + random.choice(bodies))
            case "unknown":
                bodies.append(random.choice(_UNKNOWN) + one + random.choice(_UNKNOWN))
            case "short":
                bodies.append(one[: random.randrange(len(one) + 1)])
            case _:
                bodies.append(damaged(random, one))
    rows, reasons, positions = reader.read(bodies_of_bytes(bodies))
    outcomes = zip(rows.to_pylist(), reasons.tolist(), positions.tolist(), strict=True)
    for body, (row, code, position) in zip(bodies, outcomes, strict=True):
        reason = RejectReason.of_code(code) if code else ""
        problem = _problem(reader.message_class, body, row, reason, position)
        yield problem and f"{text}\n{body.hex()}: {problem}"


# Any: google.protobuf has no type hints.
def _problem(message_class: Any, body: bytes, row: Any, reason: str, position: int) -> str:
    """How a reading differs from the library's; "" if it does not."""
    try:
        message = message_class.FromString(body)
    except DecodeError:
        is_placed = reason and 0 <= position <= len(body)
        return "" if is_placed else f"the library refuses what is {reason or row} at {position}"
    try:
        expected = expected_row(message)
    except (UnicodeDecodeError, TypeError):  # keys of maps are bytes then, and not sorted
        return "" if reason == RejectReason.BAD_UTF8 else f"a text is no UTF-8, but {reason or row}"
    return "" if not reason and _same(row, expected) else f"{reason or row}, not {expected}"


def expected_row(message: Any) -> dict[str, Any]:
    """A message as a row of columns."""
    found: dict[str, Any] = {}
    rest = type(message)()
    rest.CopyFrom(message)
    for each in message.DESCRIPTOR.fields:
        rest.ClearField(each.name)
        value = getattr(message, each.name)
        if each.message_type is not None and each.message_type.GetOptions().map_entry:
            of_key, of_value = (each.message_type.fields_by_name[n] for n in ("key", "value"))
            pairs = [(_one(key, of_key), _one(value[key], of_value)) for key in sorted(value)]
            found[each.name] = pairs
        elif each.is_repeated:
            found[each.name] = [_one(item, each) for item in value]
        elif each.has_presence and not message.HasField(each.name):
            found[each.name] = None
        else:
            found[each.name] = _one(value, each)
    for oneof in message.DESCRIPTOR.oneofs:
        if not oneof.name.startswith("_"):
            found[f"{oneof.name}_case"] = message.WhichOneof(oneof.name)
    found["_unknown"] = rest.SerializePartialToString() or None
    return found


def _one(value: Any, each: Any) -> Any:
    if each.message_type is not None:
        return expected_row(value)
    if each.enum_type is not None:
        named = each.enum_type.values_by_number.get(value)
        return str(value) if named is None else named.name
    if each.type == each.TYPE_STRING and isinstance(value, bytes):
        value.decode()
    return Decimal(value) if each.type in (each.TYPE_UINT64, each.TYPE_FIXED64) else value


def _same(left: Any, right: Any) -> bool:
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(_same(left[k], right[k]) for k in left)
        case ((list() | tuple()), (list() | tuple())):
            return len(left) == len(right) and all(map(_same, left, right))
        case float(), float():
            return left == right or (math.isnan(left) and math.isnan(right))
    return type(left) is type(right) and bool(left == right)


@dataclass(slots=True)
class DrawnSchema:
    """Writer of a random schema: four messages, of which each has fields of later ones."""

    random: randoms.Random
    lines: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Draw the schema's text."""
        version = self.random.choice(("proto2", "proto3"))
        self.lines = [f'syntax = "{version}";']
        for number in range(4):
            self._message(number, is_old=version == "proto2")
        if version == "proto2":
            self.lines.append("extend M0 { optional int32 extended = 500; }")
        self.lines.append("enum E { ZERO = 0; ONE = 1; NEGATIVE = -1; LARGE = 2147483647; }")
        return "\n".join(self.lines)

    def _message(self, number: int, *, is_old: bool) -> None:
        self.lines.append(f"message M{number} {{")
        if is_old:
            self.lines.append("extensions 500 to 600;")
        last = 0
        for place in range(self.random.randrange(8)):
            last += self.random.choice((1, 1, 1, 15, 20))
            kind = self._kind(number)
            name = f"f{place} = {last}"
            match self.random.choice(
                ("one", "one", "optional", "repeated", "map", "oneof", "group")
            ):
                case "map" if not kind.startswith("M") or number < 3:
                    self.lines.append(f"map<{self.random.choice(_KEYS)}, {kind}> {name};")
                case "oneof":
                    second = f"{self._kind(number)} g{place} = {last + 1000};"
                    self.lines.append(f"oneof o{place} {{ {kind} {name}; {second} }}")
                case "repeated":
                    is_number = kind not in ("string", "bytes") and not kind.startswith("M")
                    packed = self.random.choice(("", " [packed=true]", " [packed=false]"))
                    self.lines.append(f"repeated {kind} {name}{packed if is_number else ''};")
                case "group" if is_old:
                    self.lines.append(
                        f"optional group G{place} = {last} {{ optional {kind} x = 1; }}"
                    )
                case "optional":
                    self.lines.append(f"optional {kind} {name};")
                case _:
                    rule = self.random.choice(("optional", "required")) if is_old else ""
                    self.lines.append(f"{rule} {kind} {name};")
        self.lines.append("}")

    def _kind(self, number: int) -> str:
        later = [f"M{other}" for other in range(number + 1, 4)]
        return self.random.choice([*_SCALARS, *later, *later])


def filled(random: randoms.Random, message: Any, depth: int) -> bytes:
    """The bytes of a message with some of its fields."""
    _fill(random, message, depth)
    found: bytes = message.SerializePartialToString()
    if message.DESCRIPTOR.is_extendable and random.random() < 0.2:
        found += bytes.fromhex("a01f07")  # the extension
    return found


def _fill(random: randoms.Random, message: Any, depth: int) -> None:
    for each in message.DESCRIPTOR.fields:
        if random.random() < 0.3:
            continue
        if each.message_type is not None and each.message_type.GetOptions().map_entry:
            of_key, of_value = (each.message_type.fields_by_name[n] for n in ("key", "value"))
            for _ in range(random.randrange(4)):
                found = getattr(message, each.name)
                if of_value.message_type is not None:
                    _fill(random, found[_scalar(random, of_key)], depth - 1)
                else:
                    found[_scalar(random, of_key)] = _scalar(random, of_value)
        elif each.is_repeated:
            for _ in range(random.randrange(4)):
                found = getattr(message, each.name)
                if each.message_type is not None:
                    _fill(random, found.add(), depth - 1)
                else:
                    found.append(_scalar(random, each))
        elif each.message_type is not None:
            if depth:
                getattr(message, each.name).SetInParent()
                _fill(random, getattr(message, each.name), depth - 1)
        else:
            setattr(message, each.name, _scalar(random, each))


def _scalar(random: randoms.Random, each: Any) -> Any:
    bits = random.randrange(32)
    match each.type:
        case each.TYPE_BOOL:
            return random.random() < 0.5
        case each.TYPE_FLOAT | each.TYPE_DOUBLE:
            return random.choice((0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, 2.0**-149))
        case each.TYPE_STRING:
            return "".join(random.choices("abcä€😀\0", k=random.randrange(6)))
        case each.TYPE_BYTES:
            return random.randbytes(random.randrange(6))
        case each.TYPE_ENUM:
            return random.choice((0, 1, -1, (1 << 31) - 1))
        case each.TYPE_UINT32 | each.TYPE_FIXED32:
            return random.getrandbits(bits + 1)
        case each.TYPE_UINT64 | each.TYPE_FIXED64:
            return random.getrandbits(2 * bits + 2)
        case each.TYPE_INT32 | each.TYPE_SINT32 | each.TYPE_SFIXED32:
            return random.getrandbits(bits) * random.choice((1, -1))
    return random.getrandbits(2 * bits) * random.choice((1, -1))
