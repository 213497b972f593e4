"""Items to show as JSON objects; `type` has the item's kind."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from seglake.findings.findings import Finding
from seglake.pipelines.segment_inspect import contents
from seglake.pipelines.segment_inspect.batch_facts import BatchFound, DefectFound, Origin
from seglake.pipelines.segment_inspect.findings import finding_of

Line = dict[str, Any]


def json_lines(content: contents.Content, *, with_payload: bool) -> Iterator[Line]:
    """Yield an item as `--json` prints it, followed by the finding on the item, if any.

    Args:
        content: the content to show.
        with_payload: whether to add keys, values, headers and damaged bytes, as base64.
    """
    if not isinstance(content, Finding):
        yield _line(content, with_payload=with_payload)
    finding = finding_of(content)
    if finding is not None:
        yield {"type": "finding", **finding.to_mapping()}


def _line(content: contents.FileContent, *, with_payload: bool) -> Line:
    match content:
        case contents.FileFound():
            return {"type": "file", **_known(asdict(content))}
        case BatchFound():
            return {"type": "batch", **content.columns()}
        case contents.HoleFound():
            hole = content._asdict()
            return {"type": "hole", **_place(hole.pop("origin")), **hole}
        case DefectFound():
            columns = content.columns()
            columns["raw"] = _base64(columns["raw"]) if with_payload else None
            return {"type": "defect", **columns}
        case contents.TailFound(tail, origin):
            return {"type": "tail", **_place(origin), **asdict(tail)}
        case contents.RecordFound():
            return {"type": "record", **_record(content, with_payload=with_payload)}
        case contents.EntryFound():
            return {"type": "entry", **content.fields}
        case contents.SideFileSummary():
            found = {**content.findings_by_kind}
            return {"type": "summary", **asdict(content.file), "findings_by_kind": found}
        case contents.LogSummary():
            return {
                "type": "summary",
                "path": content.path,
                "kind": content.kind,
                **content.totals.columns(),
                "log_start_offset": content.log_start_offset,
                "high_watermark": content.high_watermark,
                "unread_segments": content.unread_segments,
                "findings_by_kind": {**content.findings_by_kind},
            }


def _known(columns: Line) -> Line:
    """Return the columns whose value is not None."""
    return {name: value for name, value in columns.items() if value is not None}


def _place(origin: Origin) -> Line:
    return {"topic": origin.topic, "partition": origin.partition, "segment": origin.segment}


def _record(found: contents.RecordFound, *, with_payload: bool) -> Line:
    """Return a record's columns; without payload, with the sizes of key, value and headers."""
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
