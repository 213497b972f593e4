"""How a record looks in the output. Pure."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seglake.pipelines.record_print.json_lines import json_lines
from seglake.pipelines.record_print.line_format import LineFormat

COLUMNS = ("topic", "partition", "offset", "timestamp", "timestamp_ms", "key", "value", "headers")
"""What of `records` is printed, or tells what is."""

_BYTES = pa.large_binary()


@dataclass(frozen=True, slots=True)
class LineStyle:
    """What is printed of a record, and what comes behind it and behind its key.

    JSON has neither: a line is a record.
    """

    format: LineFormat = LineFormat.JSON
    delimiter: bytes = b"\n"
    key_delimiter: bytes = b"\t"

    def render(self, rows: pa.RecordBatch) -> memoryview:
        """The bytes of rows of one partition; at least one row."""
        # Any: pyarrow's stubs know no buffers of arrays of any type.
        lines: Any = json_lines(rows) if self.format is LineFormat.JSON else self._payloads(rows)
        _, offsets, content = lines.buffers()
        ends = memoryview(offsets).cast("q")
        return memoryview(content)[ends[lines.offset] : ends[lines.offset + len(lines)]]

    def _payloads(self, rows: pa.RecordBatch) -> Any:
        """Keys and values as they are, nothing for null."""
        parts: list[Any] = [rows.column("value"), self.delimiter]
        if self.format is LineFormat.KEY_VALUE:
            parts = [rows.column("key"), self.key_delimiter, *parts]
        columns: list[Any] = [
            pa.scalar(part, _BYTES) if isinstance(part, bytes) else part.cast(_BYTES).fill_null(b"")
            for part in parts
        ]
        return pc.binary_join_element_wise(*columns, pa.scalar(b"", _BYTES))
