"""--offset shows what is at an offset: a batch and its record, or the hole or the damage there."""

import base64
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from seglake.pipelines.segment_inspect.errors import WrongPathError
from seglake.pipelines.segment_inspect.run import inspect
from seglake.pipelines.segment_inspect.shown_part import Part
from support import broker_disks, oracle
from support.contradictions import Contradiction, log_of
from support.counted_reads import CountedReads
from support.encoder import (
    Codec,
    ControlType,
    Header,
    Partition,
    Record,
    Segment,
    end_marker,
    messages,
    record_batch,
    wrapper,
    write_log_dir,
)
from support.looks import LOG, TIME_MS, findings, of_type


def records(count: int) -> list[Record]:
    return [Record(b"k%d" % n, b"v%d" % n, TIME_MS + n) for n in range(count)]


def _missing(offset: int) -> str:
    return f"no record has offset {offset}"


@pytest.mark.parametrize(
    ("scenario", "copy", "topic"),
    [
        ("01_v0_codecs", "stopped", "v0-none"),
        ("02_v1_codecs", "stopped", "v1-gzip-ct"),
        ("03_v2_codecs", "stopped", "v2-zstd"),
        ("05_compacted", "after", "cmp-v2"),
    ],
)
def test_every_offset_of_a_partition_is_found_if_it_is_there(
    scenario: str, copy: str, topic: str, json_look: Any
) -> None:
    folder = broker_disks.log_dir(scenario, copy) / f"{topic}-0"
    expected = {
        record.offset: record for record in oracle.expected_records(scenario, copy, topic, 0)
    }
    for offset in range(max(expected) + 1):
        lines = json_look(folder, offset=offset, records=True)
        found = of_type(lines, "record")
        assert (_missing(offset) in findings(lines, "no_record")) == (offset not in expected)
        assert [record["offset"] for record in found] == [offset] * (offset in expected)
        if found:
            (batch,) = of_type(lines, "batch")
            assert batch["base_offset"] <= offset <= batch["last_offset"]
            value = found[0]["value"]
            wanted = expected[offset].value
            assert (None if value is None else base64.b64decode(value)) == wanted


def test_the_batch_and_the_record_are_shown_of_the_segment_that_has_them(
    tmp_path: Path, json_look: Any
) -> None:
    batches = [record_batch(n * 5, records(5)) for n in range(4)]
    segments = [Segment(0, batches[:2]), Segment(10, batches[2:])]
    (written,) = write_log_dir(tmp_path, [Partition("t", 0, segments)])
    for path in (written.folder, written.segments[1].path):
        lines = json_look(path, offset=12)
        assert of_type(lines, "file")[-1]["base_offset"] == 10
        assert [batch["base_offset"] for batch in of_type(lines, "batch")] == [10]
        (record,) = of_type(lines, "record")
        assert (record["offset"], record["key_bytes"], record["value_bytes"]) == (12, 2, 2)
        assert (lines[-1]["batches"], lines[-1]["findings_by_kind"]) == (2, {})


def test_message_is_shown_alone_not_with_its_run(tmp_path: Path, json_look: Any) -> None:
    (tmp_path / LOG).write_bytes(b"".join(each.data for each in messages(0, records(9), 1)))
    lines = json_look(tmp_path / LOG, offset=4)
    (batch,) = of_type(lines, "batch")
    assert (batch["base_offset"], batch["record_count"], batch["position"]) == (4, 1, 4 * 38)


def test_wrapper_is_found_by_an_offset_inside(tmp_path: Path, json_look: Any) -> None:
    data = wrapper(0, records(4), 0, Codec.GZIP).data + wrapper(4, records(4), 1, Codec.GZIP).data
    (tmp_path / LOG).write_bytes(data)
    lines = json_look(tmp_path / LOG, offset=5)
    assert [line["base_offset"] for line in of_type(lines, "batch")] == [4]
    assert [line["offset"] for line in of_type(lines, "record")] == [5]


def test_batch_that_spans_a_compacted_offset_is_shown_without_a_record(
    tmp_path: Path, json_look: Any
) -> None:
    kept = [Record(b"a", b"", TIME_MS, offset=0), Record(b"b", b"", TIME_MS, offset=4)]
    (tmp_path / LOG).write_bytes(record_batch(0, kept).data)
    _, batch, *found = json_look(tmp_path / LOG, offset=2)
    assert (batch["base_offset"], batch["last_offset"], batch["record_count"]) == (0, 4, 2)
    assert findings(found, "no_record") == [_missing(2)]


@pytest.mark.parametrize("last_delta", [0, 1, -1])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_records_above_their_header_are_found_and_are_no_hole(
    last_delta: int, place: int, tmp_path: Path, json_look: Any
) -> None:
    log = log_of(Contradiction(last_offset_delta=last_delta), place)
    (tmp_path / LOG).write_bytes(b"".join(batch.data for batch in log))
    for offset in range(9):
        lines = json_look(tmp_path / LOG, offset=offset)
        assert [record["offset"] for record in of_type(lines, "record")] == [offset]
    lines = json_look(tmp_path / LOG)
    assert [batch["last_offset"] for batch in of_type(lines, "batch")] == [2, 5, 8]
    assert (lines[-1]["next_offset"], lines[-1]["offsets_not_there"]) == (9, 0)


def test_marker_is_found_and_named(tmp_path: Path, json_look: Any) -> None:
    marker = end_marker(5, ControlType.ABORT, producer_id=3)
    header = Header(is_transactional=True)
    (tmp_path / LOG).write_bytes(record_batch(0, records(5), header).data + marker.data)
    _, batch, summary = json_look(tmp_path / LOG, offset=5)
    assert batch["control_type"] == "abort"
    assert summary["findings_by_kind"] == {}


@pytest.mark.parametrize("offset", [4, 5, 20])
def test_offset_of_no_batch_is_not_found(offset: int, tmp_path: Path, json_look: Any) -> None:
    log = tmp_path / "00000000000000000005.log"
    log.write_bytes(record_batch(10, records(5)).data)
    lines = json_look(log, offset=offset)
    assert [line["type"] for line in lines] == ["finding", "summary"]
    assert findings(lines, "no_record") == [_missing(offset)]
    assert lines[-1]["findings_by_kind"] == {"no_record": 1}


def test_offset_below_the_first_segment_is_not_found(tmp_path: Path, json_look: Any) -> None:
    segments = [Segment(10, [record_batch(10, records(2))])]
    (written,) = write_log_dir(tmp_path, [Partition("t", 0, segments)])
    _, *found, summary = json_look(written.folder, offset=9)
    assert (summary["segments"], findings(found, "no_record")) == (0, [_missing(9)])


@pytest.mark.parametrize("offset", [14, 16])
def test_hole_that_has_the_offset_is_shown(offset: int, tmp_path: Path, json_look: Any) -> None:
    batches = [record_batch(start, records(2)) for start in (12, 17, 21)]
    (tmp_path / LOG).write_bytes(b"".join(batch.data for batch in batches))
    _, hole, *found = json_look(tmp_path / LOG, offset=offset)
    assert (hole["start_offset"], hole["next_offset"], hole["is_explained"]) == (14, 17, False)
    assert findings(found, "missing") == [f"{LOG}, 14-16: not there"]
    assert findings(found, "no_record") == [_missing(offset)]


@pytest.mark.parametrize("offset", [5, 7, 9])
def test_damage_that_holds_the_offset_is_shown(offset: int, tmp_path: Path, json_look: Any) -> None:
    batches = [record_batch(n * 5, records(5)) for n in range(4)]
    pieces = [batch.data for batch in batches]
    pieces[1] = pieces[1][:-1] + b"?"
    pieces[3] = pieces[3][:-1] + b"?"
    (tmp_path / LOG).write_bytes(b"".join(pieces))
    _, claims, defect, damage, hole, *found = json_look(tmp_path / LOG, offset=offset)
    assert (claims["base_offset"], claims["valid"]) == (5, False)
    assert (defect["previous_offset"], defect["next_offset"]) == (4, 10)
    assert (hole["start_offset"], hole["next_offset"], hole["is_explained"]) == (5, 10, True)
    assert (damage["kind"], damage["ranges"]) == ("damaged", [[5, 10]])
    assert findings(found, "no_record") == [_missing(offset)]


def test_an_offset_of_a_whole_log_dir_or_a_side_file_is_refused(
    tmp_path: Path, json_look: Any
) -> None:
    write_log_dir(tmp_path, [Partition("t", 0, [Segment(0, [record_batch(0, records(1))])])])
    with pytest.raises(WrongPathError, match="give its folder"):
        json_look(tmp_path, offset=0)
    for name in ("meta.properties", "replication-offset-checkpoint"):
        with pytest.raises(WrongPathError, match="looked up in a segment"):
            json_look(tmp_path / name, offset=0)


@pytest.mark.parametrize("has_indexes", [True, False])
def test_offset_costs_a_window_at_its_place_of_the_index(has_indexes: bool, tmp_path: Path) -> None:
    value = random.Random(7).randbytes(1 << 20)
    batches = [record_batch(n, [Record(None, value, TIME_MS)]) for n in range(40)]
    segment = Segment(0, batches, has_indexes=has_indexes)
    (written,) = write_log_dir(tmp_path, [Partition("t", 0, [segment])])
    storage, part, out = CountedReads(), Part(offset=30), io.StringIO()
    inspect(str(written.folder), storage, records=False, part=part, as_json=True, out=out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["offset"] for line in of_type(lines, "record")] == [30]
    assert (storage.segment_bytes < 16 << 20) == has_indexes
    assert (lines[-1]["batches"] < 10) == has_indexes
