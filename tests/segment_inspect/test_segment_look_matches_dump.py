"""Every segment of the disks, as inspect shows it, against Kafka's own dump, field by field.

What differs, and why that is right:

* Consecutive uncompressed messages of magic 0 and 1 are one batch here and a line each in the dump:
  they are compared run by run, and message by message through their records.
* A legacy wrapper has only its last offset in the dump; here it is decoded and has its first too.
* The dump has -1 for what a batch has not; here it is null. For magic 0 it has the time -1.
* The dump's last sequence is the base sequence and the span added up, as in the test.
* `uncompressed_bytes`, `base_timestamp_ms` and `control_type` are not in the dump's batch lines.
* The dump is silent about bytes behind the last batch, or stops there; here they are a tail.
* Control records are records in the dump; here the batch's `control_type` says what they are.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seglake.segment_codec.formats.side_files import log_dir
from support import broker_disks
from support.broker_disks import SCENARIOS
from support.cases import cases, shared
from support.dumps import Dump, DumpBatch, DumpRecord
from support.looks import Line, of_type
from support.oracle import dumped_folders

TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime", -1: "NoTimestampType"}


def dumped_segments(scenario: str) -> Iterator[tuple[Path, Dump]]:
    for folder, dump in dumped_folders(scenario):
        for name in dump.file_names:
            if name.endswith((".log", ".checkpoint")) and (folder / name).is_file():
                yield folder / name, dump


@pytest.fixture(scope="module", params=shared(cases(SCENARIOS, telling=SCENARIOS)))
def looks(request: pytest.FixtureRequest, json_look: Any) -> list[tuple[Path, Dump, list[Line]]]:
    """Each segment of a scenario, its dump, and what inspect says of it."""
    return [
        (path, dump, json_look(path, records=True)) for path, dump in dumped_segments(request.param)
    ]


def is_run(line: Line) -> bool:
    return bool(line["magic"] < 2 and line["codec"] == "none")


def as_dumped(line: Line, file_name: str) -> DumpBatch:
    """A batch as the dump has it."""

    def known(name: str) -> int | None:
        value = -1 if line[name] is None else line[name]
        return value if line["magic"] == 2 else None

    is_v2 = line["magic"] == 2
    sequence = line["base_sequence"]
    span = 0 if line["base_offset"] is None else line["last_offset"] - line["base_offset"]
    last_sequence = -1 if sequence is None else (sequence + span) % 2**31
    return DumpBatch(
        file_name=file_name,
        position=line["position"],
        size_bytes=line["size_bytes"],
        magic=line["magic"],
        codec=line["codec"],
        crc=line["crc"],
        is_valid=line["valid"],
        last_offset=line["last_offset"],
        timestamp_type=TIMESTAMP_TYPES[line["timestamp_type"]],
        max_timestamp_ms=-1 if line["max_timestamp_ms"] is None else line["max_timestamp_ms"],
        base_offset=line["base_offset"] if is_v2 else None,
        record_count=line["record_count"] if is_v2 else None,
        base_sequence=known("base_sequence"),
        last_sequence=last_sequence if is_v2 else None,
        producer_id=known("producer_id"),
        producer_epoch=known("producer_epoch"),
        leader_epoch=known("leader_epoch"),
        is_transactional=line["is_transactional"] if is_v2 else None,
        is_control=line["is_control"] if is_v2 else None,
        delete_horizon_ms=line["delete_horizon_ms"],
    )


def test_every_segment_with_bytes_is_looked_into() -> None:
    looked = {path for scenario in SCENARIOS for path, _ in dumped_segments(scenario)}
    on_disk = {
        path
        for scenario in SCENARIOS
        for path in (broker_disks.unpacked(scenario) / "disks").rglob("*.log")
        if path.stat().st_size and log_dir.parse_file_name(path.name) is not None
    }
    assert on_disk <= looked
    assert len(on_disk) > 450


def test_batches_are_those_of_the_dump(looks: list[tuple[Path, Dump, list[Line]]]) -> None:
    compared = 0
    for path, dump, lines in looks:
        batches = of_type(lines, "batch")
        expected = dump.batches_of(path.name)
        runs = {line["position"]: line for line in batches if is_run(line)}
        in_runs = {
            message.position
            for message in expected
            for run in runs.values()
            if 0 <= message.position - run["position"] < run["size_bytes"]
        }
        found = [as_dumped(line, path.name) for line in batches if line["position"] not in runs]
        assert found == [batch for batch in expected if batch.position not in in_runs], path
        for run in runs.values():
            compare_run(run, expected)
        assert of_type(lines, "defect") == [], path
        compared += len(expected)
    assert compared


def compare_run(run: Line, expected: list[DumpBatch]) -> None:
    end = run["position"] + run["size_bytes"]
    messages = [each for each in expected if run["position"] <= each.position < end]
    first, last = messages[0], messages[-1]
    times = [message.max_timestamp_ms for message in messages]
    assert {(each.magic, each.codec, each.timestamp_type) for each in messages} == {
        (run["magic"], "none", TIMESTAMP_TYPES[run["timestamp_type"]])
    }
    assert all(each.is_valid for each in messages)
    assert run["valid"]
    assert run["position"] == first.position
    assert end == last.position + last.size_bytes
    assert run["size_bytes"] == sum(each.size_bytes for each in messages)
    assert (run["base_offset"], run["last_offset"]) == (first.last_offset, last.last_offset)
    assert run["record_count"] == len(messages)
    assert run["crc"] == first.crc
    assert run["max_timestamp_ms"] == (None if run["magic"] == 0 else max(times))


def test_records_are_those_of_the_dump(looks: list[tuple[Path, Dump, list[Line]]]) -> None:
    for path, dump, lines in looks:
        control = [
            range(line["base_offset"], line["last_offset"] + 1)
            for line in of_type(lines, "batch")
            if line["is_control"]
        ]
        expected = [
            record
            for record in dump.records
            if record.file_name == path.name
            and not any(record.offset in offsets for offsets in control)
        ]
        assert [dumped_record(line, path.name) for line in of_type(lines, "record")] == expected


def dumped_record(line: Line, file_name: str) -> DumpRecord:
    return DumpRecord(
        file_name=file_name,
        offset=line["offset"],
        timestamp_type=TIMESTAMP_TYPES[line["timestamp_type"]],
        timestamp_ms=-1 if line["timestamp_ms"] is None else line["timestamp_ms"],
        key_size_bytes=base64_length(line["key"]),
        value_size_bytes=base64_length(line["value"]),
        marker=None,
        coordinator_epoch=None,
    )


def base64_length(text: str | None) -> int:
    return -1 if text is None else len(text) // 4 * 3 - text.count("=")


def test_control_types_are_the_markers_of_the_dump(
    looks: list[tuple[Path, Dump, list[Line]]],
) -> None:
    for path, dump, lines in looks:
        expected = {
            record.offset: record.marker.lower()
            for record in dump.records
            if record.file_name == path.name and record.marker
        }
        found = {
            line["last_offset"]: line["control_type"]
            for line in of_type(lines, "batch")
            if line["control_type"] in ("commit", "abort")
        }
        assert found == expected


def test_every_byte_is_accounted_for(looks: list[tuple[Path, Dump, list[Line]]]) -> None:
    for path, _, lines in looks:
        summary = lines[-1]
        counted = summary["sound_bytes"] + summary["defect_bytes"] + summary["tail_bytes"]
        assert counted == summary["size_bytes"] == path.stat().st_size
