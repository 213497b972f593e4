"""What `seglake inspect --json` says, as the oracles say it."""

import base64
from typing import Any

from support.oracle import OracleRecord

_TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime", -1: "NoTimestampType"}


# Any: JSON.
def as_consumed(line: dict[str, Any]) -> OracleRecord:
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
