"""Damaged disks: nothing raises, nothing is silent, what is sound comes out byte for byte."""

from pathlib import PurePosixPath
from typing import Any

import pytest

from support.conversions import DAMAGED_COPIES
from support.corrupt_outcomes import ClosedTail, CorruptOutcome, ExpectedDefect, corrupt_outcome
from support.looks import Line, as_consumed


@pytest.fixture(scope="module", params=DAMAGED_COPIES)
def outcome(request: pytest.FixtureRequest) -> CorruptOutcome:
    return corrupt_outcome(request.param)


@pytest.fixture(scope="module")
def lines(outcome: CorruptOutcome, json_look: Any) -> list[Line]:
    found: list[Line] = json_look(outcome.case.folder, records=True)
    return found


def test_every_file_of_a_damaged_disk_can_be_looked_into(
    outcome: CorruptOutcome, json_look: Any, text_look: Any
) -> None:
    case = outcome.case
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
    assert counted == sum(line["size_bytes"] for line in segments if "skipped" not in line)
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


def test_defects_are_those_of_a_conversion(outcome: CorruptOutcome, lines: list[Line]) -> None:
    found = [
        ExpectedDefect(
            PurePosixPath(line["segment"]).name,
            line["position"],
            line["length_bytes"],
            line["defect_code"],
        )
        for line in lines
        if line["type"] == "defect"
    ]
    assert found == list(outcome.defects)


def test_tails_are_those_of_a_conversion(outcome: CorruptOutcome, lines: list[Line]) -> None:
    last = [line["path"] for line in lines if line["type"] == "file" and line["kind"] == "log"]
    tails = [line for line in lines if line["type"] == "tail"]
    names = {PurePosixPath(path).name for path in last[-1:]}
    own = [line for line in tails if PurePosixPath(line["segment"]).name in names]
    closed = [
        ClosedTail(PurePosixPath(line["segment"]).name, line["position"], line["size_bytes"])
        for line in tails
        if line not in own
    ]
    assert [line["kind"] for line in own] == ([outcome.tail] if outcome.tail else [])
    assert closed == list(outcome.closed_tails)


def test_records_are_those_of_a_conversion(outcome: CorruptOutcome, lines: list[Line]) -> None:
    found = [as_consumed(line) for line in lines if line["type"] == "record"]
    taken = [record for record in found if record.offset < outcome.next_offset]
    assert sorted(taken, key=lambda record: record.offset) == list(outcome.records)
