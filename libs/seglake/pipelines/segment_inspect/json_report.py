"""Findings as JSON objects; `type` says what each of them is."""

from base64 import b64encode
from dataclasses import asdict
from typing import Any

from seglake.pipelines.segment_inspect import findings
from seglake.pipelines.segment_inspect.batch_facts import BatchFound, DefectFound

Line = dict[str, Any]
_NAMES = {"size_bytes": "bytes", "entry_count": "entries"}


def json_line(finding: findings.Finding, *, with_payload: bool) -> Line:
    """Return a finding as `--json` prints it.

    Args:
        with_payload: keys, values, headers and damaged bytes too, as base64.
    """
    match finding:
        case findings.FileFound():
            return {"type": "file", **_file(finding)}
        case BatchFound():
            return {"type": "batch", **finding.columns()}
        case findings.HoleFound():
            return {"type": "hole", **finding._asdict()}
        case DefectFound():
            columns = finding.columns()
            columns["raw"] = _base64(columns["raw"]) if with_payload else None
            return {"type": "defect", **columns}
        case findings.TailFound():
            return {"type": "tail", **_tail(finding)}
        case findings.RecordFound():
            return {"type": "record", **_record(finding, with_payload=with_payload)}
        case findings.EntryFound():
            return {"type": "entry", **finding.fields}
        case findings.SideFileSummary() | findings.LogSummary():
            return {"type": "summary", **_summary(finding)}


def _file(found: findings.FileFound) -> Line:
    """Fields that do not apply are left out."""
    known = {name: value for name, value in asdict(found).items() if value is not None}
    return {_NAMES.get(name, name): value for name, value in known.items()}


def _tail(found: findings.TailFound) -> Line:
    tail, origin = found
    return {
        "bytes": tail.size_bytes,
        "topic": origin.topic,
        "partition": origin.partition,
        "segment": origin.segment,
        "kind": tail.kind,
        "position": tail.position,
    }


def _record(found: findings.RecordFound, *, with_payload: bool) -> Line:
    """Sizes stand for the payload where it is not wanted."""
    record, origin = found.record, found.origin
    columns: Line = {
        "topic": origin.topic,
        "partition": origin.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "timestamp_type": found.timestamp_type,
    }
    if with_payload:
        columns["key"] = _base64(record.key)
        columns["value"] = _base64(record.value)
        columns["headers"] = [
            [header.key.decode("utf-8", errors="replace"), _base64(header.value)]
            for header in record.headers
        ]
    else:
        columns["key_bytes"] = None if record.key is None else len(record.key)
        columns["value_bytes"] = None if record.value is None else len(record.value)
        columns["header_count"] = len(record.headers)
    return columns


def _summary(found: findings.Summary) -> Line:
    match found:
        case findings.SideFileSummary():
            return {
                "path": found.file.path,
                "kind": found.file.kind,
                "damage": found.file.damage,
                "notes": [],
                "bytes": found.file.size_bytes,
                "entries": found.file.entry_count or 0,
            }
        case findings.LogSummary():
            totals = found.totals.columns()
            size_bytes = totals.pop("size_bytes")
            return {
                "path": found.path,
                "kind": found.kind,
                **totals,
                "log_start_offset": found.log_start_offset,
                "high_watermark": found.high_watermark,
                "notes": list(found.notes),
                "bytes": size_bytes,
            }


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode("ascii")
