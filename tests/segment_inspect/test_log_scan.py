"""The walk through the segments of a partition, shown as it goes."""

import os
import tracemalloc
from pathlib import Path
from typing import Any

from seglake.pipelines.segment_inspect.run import inspect
from seglake.storage.local_storage import LocalStorage
from support import broker_disks
from support.encoder import Partition, Record, Segment, record_batch, write_log_dir
from support.looks import LOG, RECORDS, TIME_MS, of_type, one


def test_unflushed_end_shows_what_its_header_claims(tmp_path: Path, json_look: Any) -> None:
    (tmp_path / LOG).write_bytes(
        record_batch(0, RECORDS).data + record_batch(5, RECORDS).data[:-1] + b"?"
    )
    lines = json_look(tmp_path / LOG)
    assert one(lines, "tail")["kind"] == "tail_unflushed"
    assert [line["base_offset"] for line in of_type(lines, "batch") if not line["valid"]] == [5]
    assert of_type(lines, "defect") == []


def test_torn_end_of_an_earlier_segment_is_damage(tmp_path: Path, json_look: Any) -> None:
    torn = record_batch(5, RECORDS).data[:70]
    segments = [
        Segment(0, [record_batch(0, RECORDS)], tail=torn),
        Segment(10, [record_batch(10, RECORDS)], tail=torn),
    ]
    (written,) = write_log_dir(tmp_path, [Partition("t", 0, segments)])
    first, second = (json_look(segment.path) for segment in written.segments)
    assert one(first, "defect")["defect_code"] == "truncated_batch"
    assert one(second, "defect")["defect_code"] == "bad_length"  # offsets before it: no torn write


def test_memory_does_not_grow_with_the_segment(tmp_path: Path) -> None:
    value = [Record(b"k", b"x" * 60_000, TIME_MS)]
    path = tmp_path / LOG
    with path.open("wb") as file:
        for offset in range(1000):
            file.write(record_batch(offset, value).data)
    with Path(os.devnull).open("w") as out:
        tracemalloc.start()
        inspect(str(path), LocalStorage(), records=True, as_json=True, out=out)
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert path.stat().st_size > 60_000_000
    assert peak_bytes < 40_000_000


def test_log_start_cuts_records_but_not_batches(json_look: Any) -> None:
    scenario, copy = "07_delete_records", broker_disks.copies("07_delete_records")[0]
    cut = 0
    for facts in broker_disks.partitions(scenario, copy):
        folder = broker_disks.log_dir(scenario, copy) / f"{facts.topic}-{facts.partition}"
        lines = json_look(folder, records=True)
        summary = lines[-1]
        offsets = [line["offset"] for line in lines if line["type"] == "record"]
        assert summary["log_start_offset"] == facts.log_start_offset
        assert all(offset >= facts.log_start_offset for offset in offsets)
        cut += summary["records"] - len(offsets)
    assert cut > 0
