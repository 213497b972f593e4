"""JSON: Python reads each text as the columns stand for it, or both refuse it."""

import json
import random as randoms
from collections.abc import Iterator
from decimal import InvalidOperation
from typing import Any

from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.json.inference import shape_of
from seglake.value_codec.json.shapes import Kind, Shape, merged_shapes, settled
from seglake.value_codec.json.value_reader import JsonReader
from support.json_values import exact, rebuilt, same
from support.value_campaign.damage import damaged

_TEXTS = 30
_KEYS = ("a", "b", "ä", "", "a.b", "value", 'q"\n', "A", "a__json", "value__json")
_NUMBERS = (
    *("0", "-0", "1", "-1", "1.0", "1e3", "2.5E+1", "-0.0", "1e400", "1e-400", "5e-324", "0.1"),
    *("9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *("1.7976931348623157e308", "0.10000000000000000555", "0.30000000000000004", "1e22", "1e23"),
)
_STRINGS = ('"\\ud800"', '"\\u00e4\\n\\ud83d\\ude00\\/"', '""', '"12345678"', '"€ and 😀 and more"')


def json_pairs(random: randoms.Random) -> Iterator[str]:
    """Yield for each text of one random shape how the readings differ; "" if they agree."""
    sound = [json_text(random, random.randrange(5)).encode() for _ in range(_TEXTS)]
    texts = [*sound, *(damaged(random, random.choice(sound)) for _ in range(_TEXTS))]
    half = shape_of(bodies_of_bytes(texts[::2]))
    whole = shape_of(bodies_of_bytes(texts))
    for shape in (whole, half, merged_shapes(half, shape_of(bodies_of_bytes(texts[1::2])))):
        rows, reasons, _ = JsonReader(shape).read(bodies_of_bytes(texts))
        for text, row, reason in zip(texts, rows.to_pylist(), reasons.tolist(), strict=True):
            is_same = is_refused(text) if reason else is_read(shape, row, text)
            yield "" if is_same else f"{text!r} is {reason or row} by {shape}"


def is_refused(text: bytes) -> bool:
    """Whether Python refuses a text."""
    try:
        exact(text)
    except (ValueError, RecursionError, InvalidOperation):
        return True
    return False


def is_read(shape: Shape, row: Any, text: bytes) -> bool:
    """Whether a row has what Python reads."""
    try:
        expected = exact(text)
    except InvalidOperation:  # Python's decimals end at some 10 ** 18 digits
        return True
    except ValueError:
        return False
    return same(rebuilt(row, is_object=settled(shape).kind is Kind.OBJECT), expected)


def json_text(random: randoms.Random, depth: int) -> str:
    blank = random.choice(("", "", " ", "\n\t"))
    match random.choice(
        ("scalar", "scalar", "array", "object", "object") if depth else ("scalar",)
    ):
        case "array":
            items = [json_text(random, depth - 1) for _ in range(random.choice((0, 1, 2, 3)))]
            return f"[{blank}{','.join(items)}{blank}]"
        case "object":
            keys = random.choices(_KEYS, k=random.choice((0, 1, 2, 3, 4)))
            pairs = [f"{json.dumps(k)}{blank}:{json_text(random, depth - 1)}" for k in keys]
            return f"{{{', '.join(pairs)}}}{blank}"
    return random.choice(
        (
            random.choice(("null", "true", "false")),
            random.choice(_NUMBERS),
            random.choice(_STRINGS),
            repr(random.uniform(-1e9, 1e9) * 10.0 ** random.randrange(-300, 299)),
            str(random.getrandbits(random.randrange(1, 80))),
            json.dumps("".join(random.choices("abc\u0000äß€😀\ud800", k=random.randrange(12)))),
        )
    )
