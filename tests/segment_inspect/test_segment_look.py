"""One segment: the sizes of the worked examples, claims of damaged batches, names, large files."""

from pathlib import Path
from typing import Any

import pytest

from support import broker_disks
from support.encoder import Codec, Partition, Segment, record_batch, wrapper, write_log_dir
from support.looks import LOG, RECORDS, encoded, findings, of_type, one


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
    assert findings(lines, "note") == [
        "the name has no base offset: the first offset in the file, 70, is used"
    ]


def test_leftover_is_shown_and_said_to_be_passed_over(tmp_path: Path, json_look: Any) -> None:
    segments = [Segment(0, [record_batch(0, RECORDS)])]
    (written,) = write_log_dir(tmp_path, [Partition("t", 0, segments)])
    leftover = written.folder / f"{LOG}.deleted"
    leftover.write_bytes(record_batch(0, RECORDS).data)
    lines = json_look(leftover)
    assert one(lines, "batch")["segment"] == f"t-0/{LOG}.deleted"
    assert findings(lines, "note") == ["an ingest skips this file: deleted"]
