"""Records as JSON, one a line, made column by column. Pure.

A Python object for each record would cost ten times as much, also with a JSON library written in C:
the payload lies in Arrow already, and most of the work is to quote it. The columns are 64-bit: a
text of control characters grows to six times its size.
"""

import json
from base64 import b64encode
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Any, below: pyarrow's stubs know neither the types of columns nor many of the functions.
_TEXT = pa.large_string()
_LOWEST_PLAIN = 0x20
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(_LOWEST_PLAIN)} | _SHORT


def json_lines(rows: pa.RecordBatch) -> Any:
    """The lines of rows of one partition, with the columns of `records` that are printed."""
    topic, partition = rows.column("topic")[0].as_py(), rows.column("partition")[0].as_py()
    head = f'{{"topic":{json.dumps(topic, ensure_ascii=False)},"partition":{partition},"offset":'
    return _joined(
        head,
        rows.column("offset").cast(_TEXT),
        ',"timestamp":',
        _times(rows.column("timestamp")),
        ',"timestamp_ms":',
        rows.column("timestamp_ms").cast(_TEXT).fill_null("null"),
        ",",
        _payload("key", rows.column("key")),
        ",",
        _payload("value", rows.column("value")),
        ',"headers":',
        _headers(rows.column("headers")),
        "}\n",
    )


def _joined(*parts: Any) -> Any:
    """Texts and columns of them, one after the other; null where one is null."""
    texts = [pa.scalar(part, _TEXT) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*texts, pa.scalar("", _TEXT))


def _times(times: Any) -> Any:
    """Times in UTC with milliseconds, quoted; `null` where there is none."""
    # Casts take a tenth of what strftime does.
    whole = times.cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.timestamp("ms"))
    days = whole.cast(pa.date32()).cast(_TEXT)
    clock = whole.cast(pa.time32("ms")).cast(_TEXT)
    return _joined('"', days, "T", clock, 'Z"').fill_null("null")


def _payload(name: str, column: Any) -> Any:
    """The field of a key or value: `name` with text or null, or `name_base64`."""
    try:
        texts, others = column.cast(_TEXT), None  # checks that all is UTF-8
    except pa.ArrowInvalid:
        texts, others = _apart(column)
    field = _joined(f'"{name}":"', _escaped(texts), '"')
    if others is not None:
        field = pc.coalesce(field, _joined(f'"{name}_base64":"', others, '"'))
    return field.fill_null(f'"{name}":null') if field.null_count else field


def _apart(column: Any) -> tuple[Any, Any]:
    """What is UTF-8 as text, and the rest in base64; null where it is the other."""
    texts: list[bytes | None] = []
    others: list[bytes | None] = []
    for data in column.to_pylist():
        is_text = data is None or _is_text(data)
        texts.append(data if is_text else None)
        others.append(None if is_text else b64encode(data))
    return pa.array(texts, pa.large_binary()).cast(_TEXT), pa.array(others, _TEXT)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _escaped(texts: Any) -> Any:
    """What stands between the quotes of JSON."""
    texts = pc.replace_substring(texts, pattern="\\", replacement="\\\\")
    texts = pc.replace_substring(texts, pattern='"', replacement='\\"')
    content = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    if content.min(initial=_LOWEST_PLAIN) < _LOWEST_PLAIN:
        for code in np.unique(content[content < _LOWEST_PLAIN]).tolist():
            texts = pc.replace_substring(texts, pattern=chr(code), replacement=_CONTROLS[chr(code)])
    return texts


def _headers(column: Any) -> Any:
    """A list of objects with `key`, and `value` or `value_base64`."""
    if column.null_count == len(column):
        return "[]"
    pairs = column.flatten()
    names, values = (pairs.field(name) for name in ("key", "value"))
    items = _joined('{"key":"', _escaped(names.cast(_TEXT)), '",', _payload("value", values), "}")
    counts = pc.list_value_length(column).fill_null(0).to_numpy()
    stops = np.concatenate([[0], np.cumsum(counts)])
    lists: Any = pa.LargeListArray.from_arrays(pa.array(stops, pa.int64()), items)
    return _joined("[", pc.binary_join(lists, pa.scalar(",", _TEXT)), "]")
