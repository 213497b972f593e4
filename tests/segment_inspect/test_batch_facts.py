"""What is shown of batches and of damage, and where they come from."""

import base64
import hashlib
from pathlib import Path
from typing import Any

from support.encoder import (
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    record_batch,
    write_log_dir,
)
from support.looks import LOG, RECORDS, TIME_MS, of_type, one


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


def test_of_long_damage_the_first_bytes_are_shown_and_said_not_to_be_all(
    tmp_path: Path, json_look: Any
) -> None:
    batch = record_batch(0, [Record(b"k", bytes(2 << 20), TIME_MS)])
    damaged = batch.data[:-1] + b"\xff"
    (tmp_path / LOG).write_bytes(damaged + record_batch(1, RECORDS).data)
    defect = one(json_look(tmp_path / LOG, records=True), "defect")
    assert base64.b64decode(defect["raw"]) == damaged[: 1 << 20]
    assert (defect["raw_is_complete"], defect["length_bytes"]) == (False, len(damaged))
