"""Writes records as JSON, one per line, column by column.

The payload is already in Arrow, and most of the time goes into quoting it. A Python object for each
record would take ten times as long, even with a JSON library in C. The text columns have 64-bit
offsets, because escaping makes a text up to six times longer.
"""

import json
from base64 import b64encode
from collections.abc import Mapping
from itertools import groupby
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

# Any: pyarrow's stubs lack the types of columns and many functions.
_Parts: TypeAlias = "list[Any]"
_TEXT = pa.large_string()
_LOWEST_PLAIN = 0x20
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(_LOWEST_PLAIN)} | _SHORT


def json_lines(rows: pa.RecordBatch, typed: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Return the lines of rows of one partition as a column of texts.

    Args:
        rows: at least one row, with `COLUMNS`.
        typed: columns of texts to print as the fields of the key or the value.
    """
    topic, partition = rows.column("topic")[0].as_py(), rows.column("partition")[0].as_py()
    head = f'{{"topic":{json.dumps(topic, ensure_ascii=False)},"partition":{partition},"offset":'
    return _joined(
        head,
        rows.column("offset").cast(_TEXT),
        ',"timestamp":',
        *_times(rows.column("timestamp")),
        ',"timestamp_ms":',
        rows.column("timestamp_ms").cast(_TEXT).fill_null("null"),
        ",",
        *([typed["key"]] if "key" in typed else _payload("key", rows.column("key"))),
        ",",
        *([typed["value"]] if "value" in typed else _payload("value", rows.column("value"))),
        ',"headers":',
        *_headers(rows.column("headers")),
        "}\n",
    )


def _joined(*parts: Any) -> Any:
    """Join texts and columns of texts row by row; a row with a null becomes null."""
    found: list[Any] = []
    for is_text, group in groupby(parts, lambda part: isinstance(part, str)):
        several = [*group]
        found += [pa.scalar("".join(several), _TEXT)] if is_text else several
    return pc.binary_join_element_wise(*found, pa.scalar("", _TEXT))


def _times(times: Any) -> _Parts:
    """Return times in UTC with milliseconds, quoted; `null` for a missing time."""
    # These casts need a tenth of the time of strftime.
    whole = times.cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.timestamp("ms"))
    days = whole.cast(pa.date32()).cast(_TEXT)
    clock = whole.cast(pa.time32("ms")).cast(_TEXT)
    return _or_else(['"', days, "T", clock, 'Z"'], "null", has_nulls=times.null_count > 0)


def _payload(name: str, column: Any) -> _Parts:
    """Return the field of a key or value: `name` with its text or null, or `name_base64`."""
    try:
        texts, others = column.cast(_TEXT), None  # fails unless all values are UTF-8
    except pa.ArrowInvalid:
        texts, others = _apart(column)
    field = [f'"{name}":"', _escaped(texts), '"']
    if others is not None:
        field = [pc.coalesce(_joined(*field), _joined(f'"{name}_base64":"', others, '"'))]
    return _or_else(field, f'"{name}":null', has_nulls=column.null_count > 0)


def _or_else(parts: _Parts, otherwise: str, *, has_nulls: bool) -> _Parts:
    """Return joined parts; replace rows with a null by another text."""
    return [_joined(*parts).fill_null(otherwise)] if has_nulls else parts


def _apart(column: Any) -> tuple[Any, Any]:
    """Split a column into UTF-8 texts, and base64 of other values; null where the other has one."""
    texts: list[bytes | None] = []
    others: list[bytes | None] = []
    for data in column.to_pylist():
        try:
            (data or b"").decode()
            texts.append(data)
            others.append(None)
        except UnicodeDecodeError:
            texts.append(None)
            others.append(b64encode(data))
    return pa.array(texts, pa.large_binary()).cast(_TEXT), pa.array(others, _TEXT)


def _escaped(texts: Any) -> Any:
    """Return texts with JSON's escapes, without the quotes around them."""
    _, offset_buffer, data = texts.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    content = np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]
    escaped = _with_backslashes(texts, content, offsets - offsets[0])
    if content.min(initial=_LOWEST_PLAIN) < _LOWEST_PLAIN:
        for code in np.unique(content[content < _LOWEST_PLAIN]).tolist():
            escaped = pc.replace_substring(
                escaped, pattern=chr(code), replacement=_CONTROLS[chr(code)]
            )
    return escaped


def _with_backslashes(texts: Any, content: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Any:
    """Return the texts with a backslash before each quote and backslash.

    The column is cut before these characters and joined again in one pass, in half the time of
    `replace_substring`.

    Args:
        texts: a column of large strings.
        content: the bytes of all texts.
        offsets: start of each text in `content`, and the end of the last one.
    """
    places = np.flatnonzero((content == ord('"')) | (content == ord("\\")))
    if not len(places):
        return texts
    edges = np.concatenate([[0], places, [len(content)]])
    pieces: Any = pa.Array.from_buffers(
        _TEXT, len(edges) - 1, [None, pa.py_buffer(edges.data), pa.py_buffer(content.data)]
    )
    whole: Any = pa.LargeListArray.from_arrays(pa.array([0, len(pieces)], pa.int64()), pieces)
    joined: Any = pc.binary_join(whole, pa.scalar("\\", _TEXT))
    # Until here, nulls are empty texts.
    stops = offsets + np.searchsorted(places, offsets)
    escaped: Any = pa.Array.from_buffers(
        _TEXT, len(texts), [None, pa.py_buffer(stops.data), joined.buffers()[2]]
    )
    return pc.if_else(texts.is_valid(), escaped, None) if texts.null_count else escaped


def _headers(column: Any) -> _Parts:
    """Return each record's headers: a list of objects with `key`, and `value` or `value_base64`."""
    if column.null_count == len(column):
        return ["[]"]
    pairs = column.flatten()
    names, values = (pairs.field(name) for name in ("key", "value"))
    items = _joined('{"key":"', _escaped(names.cast(_TEXT)), '",', *_payload("value", values), "}")
    counts = pc.list_value_length(column).fill_null(0).to_numpy()
    stops = np.concatenate([[0], np.cumsum(counts)])
    lists: Any = pa.LargeListArray.from_arrays(pa.array(stops, pa.int64()), items)
    return ["[", pc.binary_join(lists, pa.scalar(",", _TEXT)), "]"]
