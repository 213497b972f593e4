"""Texts of single values for a person: times, payloads, names, producers."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from seglake.pipelines.segment_inspect.batch_facts import BatchFound
from seglake.segment_codec.formats.record import Record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST_MS = -62_135_596_800_000  # 0001-01-01
_LATEST_MS = 253_402_300_799_999  # 9999-12-31
_MOST_SHOWN_BYTES = 160


def time_text(time_ms: int | None) -> str:
    """Return a time in UTC.

    A time outside the years 1 to 9999 is shown as its number, a missing time as '-'.
    """
    if time_ms is None or time_ms == -1:
        return "-"
    if not _EARLIEST_MS <= time_ms <= _LATEST_MS:
        return f"{time_ms} ms"
    time = _EPOCH + timedelta(milliseconds=time_ms)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def payload_text(data: bytes | None) -> str:
    """Return a key or value as quoted text, or as hex if it is not printable.

    A long text is truncated.
    """
    if data is None:
        return "null"
    shown = data[:_MOST_SHOWN_BYTES]
    rest = f"... ({len(data)} bytes)" if len(shown) < len(data) else ""
    text = shown.decode("utf-8", errors="ignore" if rest else "replace")
    if "\ufffd" in text or not all(char.isprintable() or char in "\n\t" for char in text):
        return f"0x{shown.hex()}{rest}"
    return '"' + text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t") + f'"{rest}'


def offsets_text(found: BatchFound) -> str:
    """Return first and last offset; a wrapper's first offset is unknown before decoding."""
    first, last = found.base_offset, found.last_offset
    if first is None:
        return f"?-{last}"
    return str(last) if first == last else f"{first}-{last}"


def producer_text(found: BatchFound) -> str:
    """Return producer id, epoch and sequence as text."""
    header = found.header
    if header.producer_id is None:
        return "-"
    parts = (header.producer_id, header.producer_epoch, header.base_sequence)
    return "/".join("-" if part is None else str(part) for part in parts)


def flags_text(found: BatchFound) -> str:
    """Return the flags in a batch's header as text."""
    header = found.header
    flags = [f"v{found.unit.magic}"]
    if header.leader_epoch is not None:
        flags.append(f"epoch {header.leader_epoch}")
    if header.timestamp_type == 1:
        flags.append("append time")
    if header.is_transactional:
        flags.append("transactional")
    if header.is_control:
        flags.append(f"control {found.control_type or ''}".rstrip())
    if header.delete_horizon_ms is not None:
        flags.append(f"delete horizon {time_text(header.delete_horizon_ms)}")
    if found.record_count == 0:
        flags.append("empty")
    return ", ".join(flags)


def record_text(record: Record, *, with_payload: bool) -> str:
    """Return a record as one line."""
    head = f"offset {record.offset}  {time_text(record.timestamp_ms)}"
    if not with_payload:
        sizes = f"key {_size_text(record.key)}  value {_size_text(record.value)}"
        return f"{head}  {sizes}  headers {len(record.headers)}"
    line = f"{head}  key {payload_text(record.key)}  value {payload_text(record.value)}"
    headers = [f"{payload_text(name)}={payload_text(value)}" for name, value in record.headers]
    return f"{line}  headers {' '.join(headers)}" if headers else line


def counts_text(counts: Mapping[str, int]) -> str:
    """Return names with their counts, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered) or "none"


def entry_text(fields: dict[str, object]) -> str:
    """Return an entry of an index or side file on one line."""
    return "  ".join(_field_text(name, value) for name, value in fields.items())


def _field_text(name: str, value: object) -> str:
    if name.endswith("_ms") and isinstance(value, int):
        return f"{name.removesuffix('_ms')} {time_text(value)}"
    return f"{name} {'-' if value is None else value}"


def _size_text(data: bytes | None) -> str:
    return "null" if data is None else f"{len(data)} bytes"
