"""Findings as JSON, one object a line, each with its `type`."""

import json
from base64 import b64encode
from typing import TextIO

from seglake.pipelines.segment_inspect.findings import (
    BatchFound,
    DefectFound,
    FileFound,
    RecordFound,
    Summary,
    TailFound,
)


class JsonReport:
    """Writes JSON lines.

    Args:
        out: borrowed; written to as findings come.
        with_payload: keys, values, headers and damaged bytes too, as base64.
    """

    def __init__(self, out: TextIO, *, with_payload: bool) -> None:
        self._out = out
        self._with_payload = with_payload

    def file(self, found: FileFound) -> None:
        """A file; fields that do not apply are left out."""
        optional = {
            "base_offset": found.base_offset,
            "entries": found.entry_count,
            "damage": found.damage,
            "skipped": found.skipped,
        }
        known = {name: value for name, value in optional.items() if value is not None}
        self._line("file", path=found.path, kind=found.kind, bytes=found.size_bytes, **known)

    def batch(self, found: BatchFound, marks: tuple[str, ...]) -> None:
        """A batch; the marks follow from other lines and are for people."""
        self._line("batch", **found._asdict())

    def hole(self, start_offset: int, next_offset: int) -> None:
        """Nothing: a hole follows from the batches around it."""

    def defect(self, found: DefectFound) -> None:
        """Damage; its bytes are null without payload."""
        fields = found._asdict()
        fields["raw"] = _base64(found.raw) if self._with_payload else None
        self._line("defect", **fields)

    def tail(self, found: TailFound) -> None:
        """The end of a file."""
        fields = found._asdict()
        self._line("tail", bytes=fields.pop("size_bytes"), **fields)

    def record(self, found: RecordFound) -> None:
        """A record; sizes stand for the payload where it is not wanted."""
        fields = found._asdict()
        key, value, headers = (fields.pop(name) for name in ("key", "value", "headers"))
        if self._with_payload:
            fields["key"] = _base64(key)
            fields["value"] = _base64(value)
            fields["headers"] = [
                [header.key.decode("utf-8", errors="replace"), _base64(header.value)]
                for header in headers
            ]
        else:
            fields["key_bytes"] = None if key is None else len(key)
            fields["value_bytes"] = None if value is None else len(value)
            fields["header_count"] = len(headers)
        self._line("record", **fields)

    def entry(self, fields: dict[str, object]) -> None:
        """An entry of an index or side file."""
        self._line("entry", **fields)

    def summary(self, found: Summary) -> None:
        """The end of a look."""
        fields = found._asdict()
        if "size_bytes" in fields:
            fields["bytes"] = fields.pop("size_bytes")
        if "entry_count" in fields:
            fields["entries"] = fields.pop("entry_count")
        self._line("summary", **fields)

    def _line(self, type_: str, **fields: object) -> None:
        # Escaped to ASCII, so that no name on a disk and no terminal can spoil a line.
        self._out.write(json.dumps({"type": type_, **fields}) + "\n")


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode("ascii")
