"""The form of a record in the output."""

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from seglake.pipelines.record_print.json_lines import json_lines
from seglake.pipelines.record_print.line_format import LineFormat
from seglake.pipelines.record_print.typed_parts import TypedParts

COLUMNS = ("topic", "partition", "offset", "timestamp", "timestamp_ms", "key", "value", "headers")
"""Columns of `records` that are printed, or needed to print them."""

_BYTES = pa.large_binary()


class LineStyle(NamedTuple):
    """Form of a printed record.

    Attributes:
        format: the printed parts of a record.
        delimiter: bytes after each record; not used for JSON, which has one line each.
        key_delimiter: bytes after each key.
        typed: decodes keys and values for JSON lines; None to print them without decoding.
    """

    format: LineFormat = LineFormat.JSON
    delimiter: bytes = b"\n"
    key_delimiter: bytes = b"\t"
    typed: TypedParts | None = None

    def render(self, rows: pa.RecordBatch) -> memoryview:
        """Return the output's bytes for rows of one partition.

        Args:
            rows: at least one row, with `COLUMNS`.
        """
        # Any: pyarrow's stubs lack the buffers of arrays.
        lines: Any
        if self.format is LineFormat.JSON:
            lines = json_lines(rows, self.typed.fields(rows) if self.typed else {})
        else:
            lines = self._payloads(rows)
        _, offsets, content = lines.buffers()
        ends = memoryview(offsets).cast("q")
        return memoryview(content)[ends[lines.offset] : ends[lines.offset + len(lines)]]

    def _payloads(self, rows: pa.RecordBatch) -> Any:
        """Return keys and values unchanged; a null is printed as nothing."""
        parts: list[Any] = [rows.column("value"), self.delimiter]
        if self.format is LineFormat.KEY_VALUE:
            parts = [rows.column("key"), self.key_delimiter, *parts]
        columns: list[Any] = [
            pa.scalar(part, _BYTES) if isinstance(part, bytes) else part.cast(_BYTES).fill_null(b"")
            for part in parts
        ]
        return pc.binary_join_element_wise(*columns, pa.scalar(b"", _BYTES))
