"""One segment: the sizes of the worked examples, claims of damaged batches, names, large files."""

import base64
import hashlib
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from seglake.lake.tables import BATCHES, QUARANTINE
from seglake.pipelines.segment_inspect.run import inspect
from seglake.storage.local_storage import LocalStorage
from support import broker_disks
from support.encoder import (
    Codec,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    payload_batch,
    record_batch,
    wrapper,
    write_log_dir,
)

Line = dict[str, Any]
TIME_MS = 1_700_000_000_000
RECORDS = [Record(b"k%d" % n, b"v%d" % n, TIME_MS + n) for n in range(5)]
LOG = "00000000000000000000.log"
NEEDS_A_RUN = {"row_count", "transaction_state", "state", "run_id"}
NEEDS_A_RUN_IN_QUARANTINE = {"resolution", "run_id", "quarantined_at"}


def of_type(lines: list[Line], type_: str) -> list[Line]:
    return [line for line in lines if line["type"] == type_]


def one(lines: list[Line], type_: str) -> Line:
    (line,) = of_type(lines, type_)
    return line


@pytest.mark.parametrize(
    ("topic", "sizes"), [("we-v0", [34, 31]), ("we-v1", [42, 39]), ("we-v2", [76, 73])]
)
def test_worked_examples_have_their_sizes(topic: str, sizes: list[int], json_look: Any) -> None:
    path = broker_disks.log_dir("00_worked_examples", "stopped") / f"{topic}-0" / LOG
    lines = json_look(path, records=True)
    batches = of_type(lines, "batch")
    assert sum(batch["size_bytes"] for batch in batches) == sum(sizes)
    if topic == "we-v2":
        assert [batch["size_bytes"] for batch in batches] == sizes
    else:  # one run of two messages
        assert [batch["record_count"] for batch in batches] == [2]
        second = json_look(path, offset=1)
        assert (one(second, "batch")["position"], one(second, "batch")["size_bytes"]) == tuple(
            sizes
        )
    found = [(record["key"], record["value"]) for record in of_type(lines, "record")]
    assert found == [(encoded(b"key"), encoded(b"value")), (None, encoded(b"value"))]


def test_worked_example_of_ten_records_has_191_bytes(json_look: Any) -> None:
    path = broker_disks.log_dir("00_worked_examples", "stopped") / "we-v2-ten-0" / LOG
    batch = one(json_look(path), "batch")
    assert (batch["size_bytes"], batch["record_count"]) == (191, 10)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_fields_are_the_columns_that_need_no_run(tmp_path: Path, json_look: Any) -> None:
    damaged = record_batch(0, RECORDS).data[:-1] + b"?"
    (tmp_path / LOG).write_bytes(damaged + record_batch(5, RECORDS).data)
    lines = json_look(tmp_path / LOG)
    names = [name for name in BATCHES.schema.names if name not in NEEDS_A_RUN]
    for batch in of_type(lines, "batch"):
        assert list(batch) == ["type", *names, "valid"]
    names = [name for name in QUARANTINE.schema.names if name not in NEEDS_A_RUN_IN_QUARANTINE]
    assert list(one(lines, "defect")) == ["type", *names]
    assert list(one(lines, "file"))[:4] == ["type", "path", "kind", "bytes"]


def test_origin_comes_from_the_files_around(tmp_path: Path, json_look: Any) -> None:
    partition = Partition("a-topic", 3, [Segment(0, [record_batch(0, RECORDS)])])
    (written,) = write_log_dir(tmp_path, [partition], broker_id=4, cluster_id="a-cluster")
    batch = one(json_look(written.segments[0].path), "batch")
    found = [batch[name] for name in ("source_id", "topic", "partition", "broker_id", "segment")]
    assert found == ["a-cluster", "a-topic", 3, 4, f"a-topic-3/{LOG}"]


def test_damaged_batch_is_shown_with_its_claims_and_as_a_defect(
    tmp_path: Path, json_look: Any
) -> None:
    header = Header(leader_epoch=2, producer=Producer(9, 1, 30))
    data = record_batch(5, RECORDS, header).data
    good = record_batch(0, RECORDS), record_batch(10, RECORDS)
    (tmp_path / LOG).write_bytes(good[0].data + data[:-1] + b"?" + good[1].data)
    lines = json_look(tmp_path / LOG, records=True)
    claims = [line for line in of_type(lines, "batch") if not line["valid"]]
    assert len(claims) == 1
    names = ("base_offset", "last_offset", "record_count", "size_bytes", "position")
    assert [claims[0][name] for name in names] == [5, 9, 5, len(data), len(good[0].data)]
    names = ("leader_epoch", "producer_id", "producer_epoch", "base_sequence", "uncompressed_bytes")
    assert [claims[0][name] for name in names] == [2, 9, 1, 30, None]
    defect = one(lines, "defect")
    assert defect["defect_code"] == "crc_mismatch"
    assert (defect["previous_offset"], defect["next_offset"]) == (4, 10)
    assert base64.b64decode(defect["raw"]) == data[:-1] + b"?"
    assert defect["raw_sha256"] == hashlib.sha256(data[:-1] + b"?").hexdigest()
    assert defect["kafka_would_truncate"]
    assert lines.index(claims[0]) + 1 == lines.index(defect)


def test_batch_that_cannot_be_decoded_is_a_defect(tmp_path: Path, json_look: Any) -> None:
    header = Header(record_count=2, last_offset_delta=1)
    cut = payload_batch(0, b"\x1f\x8bnot gzip", header, codec=Codec.GZIP)
    strange = payload_batch(2, b"x", header, codec=6)
    malformed = record_batch(4, RECORDS, Header(record_count=4))
    (tmp_path / LOG).write_bytes(
        cut.data + strange.data + malformed.data + record_batch(9, RECORDS).data
    )
    lines = json_look(tmp_path / LOG, records=True)
    defects = of_type(lines, "defect")
    assert [defect["defect_code"] for defect in defects] == [
        "decompression_failed",
        "unsupported_codec",
        "record_count_mismatch",
    ]
    assert not any(defect["kafka_would_truncate"] for defect in defects)
    assert [line["valid"] for line in of_type(lines, "batch")] == [False, False, False, True]
    assert [line["offset"] for line in of_type(lines, "record")] == [9, 10, 11, 12, 13]


def test_unflushed_end_shows_what_its_header_claims(tmp_path: Path, json_look: Any) -> None:
    (tmp_path / LOG).write_bytes(
        record_batch(0, RECORDS).data + record_batch(5, RECORDS).data[:-1] + b"?"
    )
    lines = json_look(tmp_path / LOG)
    assert one(lines, "tail")["kind"] == "tail_unflushed"
    assert [line["base_offset"] for line in of_type(lines, "batch") if not line["valid"]] == [5]
    assert of_type(lines, "defect") == []


def test_bytes_are_only_shown_with_records(tmp_path: Path, json_look: Any, text_look: Any) -> None:
    secret = [Record(b"the-key", b"the-value", TIME_MS, (("the-name", b"the-content"),))]
    data = record_batch(1, secret).data
    damaged = data[:-1] + b"?"
    (tmp_path / LOG).write_bytes(
        record_batch(0, secret).data + damaged + record_batch(2, secret).data
    )
    for offset in (None, 0, 1):
        lines = str(json_look(tmp_path / LOG, offset=offset))
        text = text_look(tmp_path / LOG, offset=offset)
        for word in (b"the-key", b"the-value", b"the-name", b"the-content"):
            assert encoded(word) not in lines
            assert word.decode() not in lines + text
    assert one(json_look(tmp_path / LOG), "defect")["raw"] is None
    assert "the-value" in text_look(tmp_path / LOG, records=True)


def test_of_long_damage_the_first_bytes_are_shown_and_said_not_to_be_all(
    tmp_path: Path, json_look: Any
) -> None:
    batch = record_batch(0, [Record(b"k", bytes(2 << 20), TIME_MS)])
    damaged = batch.data[:-1] + b"\xff"
    (tmp_path / LOG).write_bytes(damaged + record_batch(1, RECORDS).data)
    defect = one(json_look(tmp_path / LOG, records=True), "defect")
    assert base64.b64decode(defect["raw"]) == damaged[: 1 << 20]
    assert (defect["raw_is_complete"], defect["length_bytes"]) == (False, len(damaged))


def test_offsets_of_a_batch_that_comes_late_are_there(tmp_path: Path, json_look: Any) -> None:
    batches = [record_batch(start, RECORDS).data for start in (0, 15, 5)]
    (tmp_path / LOG).write_bytes(b"".join(batches))
    summary = json_look(tmp_path / LOG)[-1]
    assert (summary["records"], summary["offsets_not_there"]) == (15, 5)


def test_wrapper_has_its_first_offset_and_its_records(tmp_path: Path, json_look: Any) -> None:
    (tmp_path / "00000000000000000040.log").write_bytes(wrapper(40, RECORDS, 1, Codec.LZ4).data)
    lines = json_look(tmp_path / "00000000000000000040.log", records=True)
    batch = one(lines, "batch")
    assert (batch["base_offset"], batch["last_offset"], batch["record_count"]) == (40, 44, 5)
    assert [line["offset"] for line in of_type(lines, "record")] == [40, 41, 42, 43, 44]


def test_segment_of_another_name_is_known_by_its_bytes(tmp_path: Path, json_look: Any) -> None:
    (tmp_path / "copied.bin").write_bytes(record_batch(70, RECORDS).data)
    lines = json_look(tmp_path / "copied.bin")
    assert one(lines, "batch")["base_offset"] == 70
    assert "the name tells no base offset: 70" in one(lines, "summary")["notes"][0]


def test_leftover_is_shown_and_said_to_be_passed_over(tmp_path: Path, json_look: Any) -> None:
    segments = [Segment(0, [record_batch(0, RECORDS)])]
    (written,) = write_log_dir(tmp_path, [Partition("t", 0, segments)])
    leftover = written.folder / f"{LOG}.deleted"
    leftover.write_bytes(record_batch(0, RECORDS).data)
    lines = json_look(leftover)
    assert one(lines, "batch")["segment"] == f"t-0/{LOG}.deleted"
    assert one(lines, "summary")["notes"] == ["a conversion passes over this file: deleted"]


def test_torn_end_of_an_earlier_segment_is_damage(tmp_path: Path, json_look: Any) -> None:
    torn = record_batch(5, RECORDS).data[:70]
    segments = [
        Segment(0, [record_batch(0, RECORDS)], tail=torn),
        Segment(10, [record_batch(10, RECORDS)], tail=torn),
    ]
    (written,) = write_log_dir(tmp_path, [Partition("t", 0, segments)])
    first, second = (json_look(segment.path) for segment in written.segments)
    assert one(first, "defect")["defect_code"] == "truncated_batch"
    assert one(second, "tail")["kind"] == "tail_garbage"  # its offset was taken: no torn write


def test_memory_does_not_grow_with_the_segment(tmp_path: Path) -> None:
    value = [Record(b"k", b"x" * 60_000, TIME_MS)]
    path = tmp_path / LOG
    with path.open("wb") as file:
        for offset in range(1000):
            file.write(record_batch(offset, value).data)
    with Path(os.devnull).open("w") as out:
        tracemalloc.start()
        inspect(str(path), LocalStorage(), records=True, offset=None, as_json=True, out=out)
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert path.stat().st_size > 60_000_000
    assert peak_bytes < 40_000_000
