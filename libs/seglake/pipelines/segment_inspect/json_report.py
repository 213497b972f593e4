"""Contents as JSON objects; `type` names the kind of each."""

from base64 import b64encode
from dataclasses import asdict
from typing import Any

from seglake.pipelines.segment_inspect import findings
from seglake.pipelines.segment_inspect.batch_facts import BatchFound, DefectFound, Origin

Line = dict[str, Any]


def json_line(finding: findings.Finding, *, with_payload: bool) -> Line:
    """Return a finding in the form that `--json` prints.

    Args:
        finding: the content to show.
        with_payload: add keys, values, headers and damaged bytes, as base64.
    """
    match finding:
        case findings.FileFound():
            return {"type": "file", **_known(asdict(finding))}
        case BatchFound():
            return {"type": "batch", **finding.columns()}
        case findings.HoleFound():
            return {"type": "hole", **finding._asdict()}
        case DefectFound():
            columns = finding.columns()
            columns["raw"] = _base64(columns["raw"]) if with_payload else None
            return {"type": "defect", **columns}
        case findings.TailFound(tail, origin):
            return {"type": "tail", **_place(origin), **asdict(tail)}
        case findings.RecordFound():
            return {"type": "record", **_record(finding, with_payload=with_payload)}
        case findings.EntryFound():
            return {"type": "entry", **finding.fields}
        case findings.SideFileSummary():
            return {"type": "summary", "notes": [], **asdict(finding.file)}
        case findings.LogSummary():
            return {
                "type": "summary",
                "path": finding.path,
                "kind": finding.kind,
                **finding.totals.columns(),
                "log_start_offset": finding.log_start_offset,
                "high_watermark": finding.high_watermark,
                "unread_segments": finding.unread_segments,
                "notes": [*finding.notes],
            }


def _known(columns: Line) -> Line:
    """Return the columns without those that are None."""
    return {name: value for name, value in columns.items() if value is not None}


def _place(origin: Origin) -> Line:
    return {"topic": origin.topic, "partition": origin.partition, "segment": origin.segment}


def _record(found: findings.RecordFound, *, with_payload: bool) -> Line:
    """Return a record's columns; without payload, sizes take its place."""
    record = found.record
    columns: Line = {
        **_place(found.origin),
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


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode("ascii")
