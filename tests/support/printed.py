"""Reads the output of `seglake cat` into records as a consumer gives them."""

import base64
import io
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from seglake.cli import cat_command
from support.oracle import OracleRecord

_NO_TYPE = ""  # is not printed
_NO_TIME_MS = -1
Place = tuple[str, int]


class Printed(NamedTuple):
    """Result of a call of `seglake cat`: its output and exit code."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:  # Any: what JSON can hold
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def records(self) -> dict[Place, list[OracleRecord]]:
        """The records of each partition, in the order of the lines."""
        found: dict[Place, list[OracleRecord]] = {}
        for line in self.lines:
            found.setdefault((line["topic"], line["partition"]), []).append(printed_record(line))
        return found


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def cat(*arguments: str | Path, is_terminal: bool = False) -> Printed:
    """Run the command in this process; stderr may be a terminal."""
    out, err = io.BytesIO(), _Terminal() if is_terminal else io.StringIO()
    with patch.object(sys, "stdout", io.TextIOWrapper(out, "utf-8")), redirect_stderr(err):
        try:
            code = cat_command.main([str(argument) for argument in arguments])
        except SystemExit as wrong_call:
            code = int(wrong_call.code or 0)
        sys.stdout.flush()
        return Printed(code, out.getvalue(), err.getvalue())


def printed_record(line: dict[str, Any]) -> OracleRecord:
    """A line as the oracle has the record, but for the type of its timestamp."""
    time_ms = line["timestamp_ms"]
    headers = [(header["key"], _payload(header, "value")) for header in line["headers"]]
    return OracleRecord.of(
        line["offset"],
        _NO_TIME_MS if time_ms is None else time_ms,
        _NO_TYPE,
        _payload(line, "key"),
        _payload(line, "value"),
        headers,
    )


def without_type(records: list[OracleRecord]) -> Iterator[OracleRecord]:
    """The oracle's records as far as they are printed."""
    return (record._replace(timestamp_type=_NO_TYPE) for record in records)


def _payload(fields: dict[str, Any], name: str) -> bytes | None:
    if f"{name}_base64" in fields:
        data = base64.b64decode(fields[f"{name}_base64"], validate=True)
        with_text = data.decode("utf-8", errors="replace")
        assert with_text.encode() != data, "text is printed as text"
        return data
    text: str | None = fields[name]
    return None if text is None else text.encode()
