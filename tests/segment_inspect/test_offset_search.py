"""--offset finds what is there, by the index and without it, and says what is there instead."""

import base64
from pathlib import Path
from typing import Any

import pytest

from seglake.pipelines.segment_inspect.errors import WrongPathError
from support import broker_disks, oracle
from support.contradictions import Contradiction, log_of
from support.encoder import (
    Codec,
    ControlType,
    Header,
    Partition,
    Record,
    Segment,
    end_marker,
    messages,
    offset_index,
    record_batch,
    wrapper,
    write_log_dir,
)
from support.encoder import OffsetEntry as Entry
from support.looks import LOG, TIME_MS, of_type


def records(count: int) -> list[Record]:
    return [Record(b"k%d" % n, b"v%d" % n, TIME_MS + n) for n in range(count)]


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
    used_index = 0
    for offset in range(max(expected) + 1):
        lines = json_look(folder, offset=offset, records=True)
        summary = lines[-1]
        found = of_type(lines, "record")
        assert summary["found"] == (offset in expected)
        assert [record["offset"] for record in found] == [offset] * (offset in expected)
        if found:
            (batch,) = of_type(lines, "batch")
            assert batch["base_offset"] <= offset <= batch["last_offset"]
            assert summary["batch_position"] == batch["position"]
            value = found[0]["value"]
            wanted = expected[offset].value
            assert (None if value is None else base64.b64decode(value)) == wanted
        used_index += summary["index_position"] is not None
    assert used_index > 10


def test_entry_of_the_index_is_the_last_at_or_below(tmp_path: Path, json_look: Any) -> None:
    batches = [record_batch(n * 5, records(5)) for n in range(4)]
    segment = Segment(0, batches, index_interval_bytes=1)
    (written,) = write_log_dir(tmp_path, [Partition("t", 0, [segment])])
    index = written.segments[0].offset_entries
    for path in (
        written.folder,
        written.folder / LOG,
        written.folder / LOG.replace("log", "index"),
    ):
        entry, batch, record, summary = json_look(path, offset=12)
        assert (entry["offset"], entry["position"]) == index[0]
        assert batch["base_offset"] == 10
        assert (record["offset"], record["key_bytes"], record["value_bytes"]) == (12, 2, 2)
        assert (summary["index_offset"], summary["index_position"]) == index[0]
        assert summary["walked_batches"] == 1


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


def test_record_compacted_away_is_said(tmp_path: Path, json_look: Any) -> None:
    kept = [Record(b"a", b"", TIME_MS, offset=0), Record(b"b", b"", TIME_MS, offset=4)]
    (tmp_path / LOG).write_bytes(record_batch(0, kept).data)
    *_, batch, summary = json_look(tmp_path / LOG, offset=2)
    assert batch["last_offset"] == 4
    assert not summary["found"]
    assert summary["notes"] == [
        "the batch spans the offset but has no such record: compacted away "
        "(record before it: 0, after it: 4)"
    ]


SKIPPED = "the batch has a record at the offset, which Kafka's consumer skips"
NO_RECORD = "the batch spans the offset but has no such record"


@pytest.mark.parametrize(
    ("odd", "offset", "said"),
    [
        (Contradiction(deltas=(2, 1, 0)), 3, f"{SKIPPED} (record before it: none, after it: 5)"),
        (Contradiction(deltas=(2, 1, 0)), 4, f"{SKIPPED} (record before it: none, after it: 5)"),
        (Contradiction(record_count=2), 4, f"{SKIPPED} (record before it: 3, after it: none)"),
        (
            Contradiction(record_count=2),
            5,
            f"{NO_RECORD} among those that its header counts, and the count is wrong "
            "(record before it: 3, after it: none)",
        ),
        (
            Contradiction(deltas=(0, 1, 1)),
            5,
            f"{NO_RECORD}, though its header counts one for each offset "
            "(record before it: 4, after it: none)",
        ),
    ],
)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_record_that_is_not_given_is_not_said_to_be_compacted(
    odd: Contradiction, offset: int, said: str, codec: Codec, tmp_path: Path, json_look: Any
) -> None:
    (tmp_path / LOG).write_bytes(b"".join(batch.data for batch in log_of(odd, 1, codec)))
    *_, batch, summary = json_look(tmp_path / LOG, offset=offset)
    assert (batch["base_offset"], batch["last_offset"]) == (3, 5)
    assert (summary["found"], summary["notes"]) == (False, [said])


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


def test_control_record_is_named(tmp_path: Path, json_look: Any) -> None:
    marker = end_marker(5, ControlType.ABORT, producer_id=3)
    header = Header(is_transactional=True)
    (tmp_path / LOG).write_bytes(record_batch(0, records(5), header).data + marker.data)
    *_, batch, summary = json_look(tmp_path / LOG, offset=5)
    assert batch["control_type"] == "abort"
    assert summary["found"]
    assert summary["notes"] == ["it is a control record: abort"]


def test_offset_beyond_the_log_is_not_found(tmp_path: Path, json_look: Any) -> None:
    (tmp_path / LOG).write_bytes(record_batch(0, records(5)).data)
    (summary,) = json_look(tmp_path / LOG, offset=5)
    assert not summary["found"]
    assert summary["notes"] == [
        "offset 5 is above the segment's last batch, which ends with offset 4"
    ]


@pytest.mark.parametrize(
    ("offset", "said"),
    [
        (11, "no batch is before it in the segment, the next one begins with offset 12"),
        (15, "the batch before it ends with offset 13, the next one begins with offset 17"),
        (19, "the batch before it ends with offset 18, the next one begins with offset 21"),
    ],
)
@pytest.mark.parametrize("index_interval_bytes", [1, 1 << 20])
def test_offset_in_a_gap_is_shown_with_its_neighbours(
    offset: int, said: str, index_interval_bytes: int, tmp_path: Path, json_look: Any
) -> None:
    first = [record_batch(12, records(2)), record_batch(17, records(2))]
    segments = [
        Segment(10, first, index_interval_bytes=index_interval_bytes),
        Segment(21, [record_batch(21, records(2))]),
    ]
    (written,) = write_log_dir(tmp_path, [Partition("t", 0, segments)])
    summary = json_look(written.folder, offset=offset)[-1]
    assert (summary["found"], summary["notes"]) == (False, [f"offset {offset} is in a gap: {said}"])


def test_segment_without_a_batch_has_no_offset(tmp_path: Path, json_look: Any) -> None:
    (tmp_path / LOG).write_bytes(b"")
    (summary,) = json_look(tmp_path / LOG, offset=5)
    assert summary["notes"] == ["offset 5 is not there: the segment has no batch"]


def test_offset_below_the_first_segment_is_not_found(tmp_path: Path, json_look: Any) -> None:
    segments = [Segment(10, [record_batch(10, records(2))])]
    (written,) = write_log_dir(tmp_path, [Partition("t", 0, segments)])
    (summary,) = json_look(written.folder, offset=9)
    assert summary["notes"] == ["no segment begins at or below offset 9"]


def test_damage_that_holds_the_offset_is_shown(tmp_path: Path, json_look: Any) -> None:
    batches = [record_batch(n * 5, records(5)) for n in range(4)]
    pieces = [batch.data for batch in batches]
    pieces[1] = pieces[1][:-1] + b"?"
    (tmp_path / LOG).write_bytes(b"".join(pieces))
    claims, defect, summary = json_look(tmp_path / LOG, offset=7)
    assert (claims["base_offset"], claims["valid"]) == (5, False)
    assert (defect["previous_offset"], defect["next_offset"]) == (4, 10)
    assert not summary["found"]


@pytest.mark.parametrize(
    "entries",
    [
        [Entry(1, 10_000_000)],  # behind the end of the file
        [Entry(1, 200)],  # behind the batch
        [Entry(1, 3)],  # inside a batch
    ],
)
def test_index_that_misleads_does_not_hide_the_offset(
    entries: list[Entry], tmp_path: Path, json_look: Any
) -> None:
    path = tmp_path / LOG
    path.write_bytes(b"".join(record_batch(n * 5, records(5)).data for n in range(4)))
    path.with_suffix(".index").write_bytes(offset_index(0, entries))
    lines = json_look(path, offset=2)
    assert [line["offset"] for line in of_type(lines, "record")] == [2]
    assert lines[-1]["found"]
    assert lines[-1]["notes"] == [
        "no sound batch of offset 2 or below begins at position "
        f"{entries[0].position}, where the index points: read from position 0"
    ]


def test_damage_of_the_index_is_said_though_its_entries_lead_to_the_offset(
    tmp_path: Path, json_look: Any
) -> None:
    path = tmp_path / LOG
    batches = [record_batch(n * 5, records(5)).data for n in range(4)]
    path.write_bytes(b"".join(batches))
    entry = Entry(9, len(batches[0]))
    path.with_suffix(".index").write_bytes(offset_index(0, [entry]) + b"odd")
    summary = json_look(path, offset=12)[-1]
    assert (summary["found"], summary["index_position"]) == (True, entry.position)
    assert summary["notes"] == ["the index is damaged: 11 bytes: 3 more than whole entries of 8"]


def test_an_offset_of_a_whole_log_dir_is_refused(tmp_path: Path, json_look: Any) -> None:
    write_log_dir(tmp_path, [Partition("t", 0, [Segment(0, [record_batch(0, records(1))])])])
    with pytest.raises(WrongPathError, match="give its folder"):
        json_look(tmp_path, offset=0)
    for name in ("meta.properties", "replication-offset-checkpoint"):
        with pytest.raises(WrongPathError, match="looked up in a segment"):
            json_look(tmp_path / name, offset=0)
