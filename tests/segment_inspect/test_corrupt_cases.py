"""Damaged disks: nothing raises, nothing is silent, what is sound comes out byte for byte."""

import base64
from typing import Any

import pytest

from support.broker_disks import CORRUPT_CASES
from support.corrupt_cases import CorruptCase, corrupt_case, intact_records
from support.oracle import OracleRecord

Line = dict[str, Any]
TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime", -1: "NoTimestampType"}
# A conversion takes records only up to here, and these lie above what the disk still tells.


@pytest.fixture(scope="module", params=CORRUPT_CASES)
def case(request: pytest.FixtureRequest) -> CorruptCase:
    return corrupt_case(request.param)


@pytest.fixture(scope="module")
def lines(case: CorruptCase, json_look: Any) -> list[Line]:
    found: list[Line] = json_look(case.folder, records=True)
    return found


def test_every_file_of_a_damaged_disk_can_be_looked_into(
    case: CorruptCase, json_look: Any, text_look: Any
) -> None:
    for path in [case.log_dir, *sorted(case.log_dir.rglob("*"))]:
        if path.is_dir() and path not in (case.log_dir, case.folder):
            continue
        lines = json_look(path, records=path != case.log_dir)
        assert lines[-1]["type"] == "summary"
        assert text_look(path, records=path != case.log_dir)


def test_every_byte_of_a_damaged_disk_is_accounted_for(lines: list[Line]) -> None:
    summary = lines[-1]
    counted = summary["sound_bytes"] + summary["defect_bytes"] + summary["tail_bytes"]
    segments = [line for line in lines if line["type"] == "file" and line["kind"] == "log"]
    assert counted == sum(line["bytes"] for line in segments if "skipped" not in line)
    assert summary["defects"] == counts(lines, "defect", "defect_code")
    assert summary["tails"] == counts(lines, "tail", "kind")
    valid = [line for line in lines if line["type"] == "batch" and line["valid"]]
    assert summary["batches"] == len(valid)


def counts(lines: list[Line], type_: str, name: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in lines:
        if line["type"] == type_:
            found[line[name]] = found.get(line[name], 0) + 1
    return found


def test_intact_records_come_out_of_a_damaged_disk(case: CorruptCase, lines: list[Line]) -> None:
    found = {
        line["offset"]: as_consumed(line) for line in lines if line["type"] == "record"
    }
    expected = {record.offset: record for record in intact_records(case)}
    assert {offset: found.get(offset) for offset in expected} == expected


def test_lost_offsets_are_not_shown_as_records(case: CorruptCase, lines: list[Line]) -> None:
    found = {line["offset"] for line in lines if line["type"] == "record"}
    lost = {offset for offsets in case.lost_offsets for offset in offsets}
    if "well formed" not in case.note:
        assert found.isdisjoint(lost)


def as_consumed(line: Line) -> OracleRecord:
    return OracleRecord.of(
        line["offset"],
        -1 if line["timestamp_ms"] is None else line["timestamp_ms"],
        TIMESTAMP_TYPES[line["timestamp_type"]],
        decoded(line["key"]),
        decoded(line["value"]),
        [(name, decoded(value)) for name, value in line["headers"]],
    )


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)
