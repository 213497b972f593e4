"""Protobuf schemas that evolve, and what Google's library reads with them."""

import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from grpc_tools import protoc

from support.avro_oracle import form
from support.drawn_typed.outcomes import Outcome
from support.value_campaign.protobuf_pairs import DrawnSchema, expected_row, filled

_REFUSED = frozenset({"short", "bad_varint", "bad_utf8", "trailing_bytes", "depth", "too_large"})
MESSAGES = ("M0", "M1")


def protobuf_text(random: Random) -> str:
    """A schema whose messages M0 and M1 are written."""
    return DrawnSchema(random).text()


def evolved_text(random: Random, text: str) -> str:
    """A later version of a schema: mostly with one more field, else another schema."""
    if random.random() < 0.3:
        return protobuf_text(random)
    number = 900 + text.count("later")
    head = "message M0 {"
    return text.replace(head, f"{head}\noptional string later{number} = {number};")


# Any: google.protobuf has no type hints.
@cache
def _class_of(text: str, message: str) -> Any:
    """The library's class of a message, which knows no extensions: they are unknown fields."""
    text = "\n".join(line for line in text.split("\n") if not line.startswith("extend "))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "schema.proto").write_text(text)
        out = Path(folder, "set")
        assert not protoc.main(["", f"--descriptor_set_out={out}", f"-I{folder}", "schema.proto"])
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(message))


def protobuf_body(random: Random, text: str, message: str) -> bytes:
    """The bytes of a message with some of its fields."""
    return filled(random, _class_of(text, message)(), 3)


def protobuf_outcome(text: str, message: str, body: bytes, number: int) -> Outcome:
    """What must become of a body; a message may lack what its schema requires."""
    try:
        expected = expected_row(_class_of(text, message).FromString(body))
    except (DecodeError, UnicodeDecodeError, TypeError):  # keys that are no UTF-8 are bytes
        return Outcome((), _REFUSED, number)
    return Outcome((_form(expected),), frozenset(), number)


def _form(value: Any) -> Any:
    match value:
        case dict():
            return {name: _form(each) for name, each in value.items()}
        case [tuple(), *_]:
            return {"$map": [[key, _form(each)] for key, each in value]}
        case list():
            return [_form(each) for each in value]
    return form(None, value)
