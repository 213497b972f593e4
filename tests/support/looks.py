"""The lines of `seglake inspect --json`, and what many looks look at."""

import base64
from typing import Any

from support.encoder import Record
from support.oracle import OracleRecord

# Any: JSON.
Line = dict[str, Any]
LOG = "00000000000000000000.log"
TIME_MS = 1_700_000_000_000
RECORDS = [Record(b"k%d" % n, b"v%d" % n, TIME_MS + n) for n in range(5)]

_TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime", -1: "NoTimestampType"}


def as_consumed(line: Line) -> OracleRecord:
    """A line of the type `record` as Kafka's consumer would have given the record."""
    return OracleRecord.of(
        line["offset"],
        -1 if line["timestamp_ms"] is None else line["timestamp_ms"],
        _TIMESTAMP_TYPES[line["timestamp_type"]],
        _decoded(line["key"]),
        _decoded(line["value"]),
        [(name, _decoded(value)) for name, value in line["headers"]],
    )


def _decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)


def of_type(lines: list[Line], type_: str) -> list[Line]:
    """The lines of one type."""
    return [line for line in lines if line["type"] == type_]


def findings(lines: list[Line], kind: str) -> list[str]:
    """The texts of the findings of one kind."""
    return [line["text"] for line in of_type(lines, "finding") if line["kind"] == kind]


def one(lines: list[Line], type_: str) -> Line:
    """The only line of its type."""
    (line,) = of_type(lines, type_)
    return line


def encoded(data: bytes) -> str:
    """Bytes as JSON has them."""
    return base64.b64encode(data).decode()
