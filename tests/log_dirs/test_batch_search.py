"""Batches are found by their offset, with an offset index and without one."""

from dataclasses import replace
from pathlib import Path

import pytest

from seglake.kafka_log.log_identity import LogBatch
from seglake.kafka_log.replica import SegmentFile
from seglake.kafka_log.segment_survey import LastBatch
from seglake.log_dirs.batch_search import Answer, BatchRequest, LogEnd, find_batch
from seglake.storage.local_storage import LocalStorage
from support import broker_disks
from support.dumps import DumpBatch
from support.oracle import partition_dump

_REAL = [
    ("04_upgraded", "stopped", "upg-one-segment-0"),
    ("05_compacted", "after", "cmp-v2-0"),
    ("05_compacted", "after", "cmp-txn-0"),
    ("05_compacted", "after", "cmp-v1-gzip-0"),
    ("05_compacted", "before", "cmp-v1-0"),
    ("01_v0_codecs", "stopped", "v0-snappy-0"),
]


def _request(path: Path, offset: int, *, has_index: bool = True) -> BatchRequest:
    index = str(path.with_suffix(".index")) if has_index else None
    file = SegmentFile(int(path.stem), str(path), path.name, path.stat().st_size, index)
    return BatchRequest(LocalStorage(), file, offset, True, 1 << 20)


@pytest.mark.parametrize(("scenario", "copy", "name"), _REAL)
def test_each_batch_is_found_by_every_offset_up_to_its_last(
    scenario: str, copy: str, name: str
) -> None:
    topic, _, partition = name.rpartition("-")
    folder = broker_disks.log_dir(scenario, copy) / name
    dump = partition_dump(scenario, copy, topic, int(partition))
    for path in sorted(folder.glob("*.log")):
        offset = int(path.stem)
        for batch in dump.batches_of(path.name):
            for wanted in range(offset, batch.last_offset + 1):
                answers = [
                    find_batch(_request(path, wanted, has_index=has)) for has in (True, False)
                ]
                assert answers[0] == answers[1], (path, wanted)
                _check(answers[0], batch, wanted)
            offset = batch.last_offset + 1
        assert find_batch(_request(path, offset)) == LogEnd(offset)


def _check(answer: Answer, batch: DumpBatch, wanted: int) -> None:
    assert isinstance(answer, LogBatch)
    if batch.magic < 2 and batch.codec == "none":  # a run of messages begins where it is asked for
        assert (answer.header.base_offset, answer.magic) == (batch.last_offset, batch.magic)
    else:
        epoch = batch.leader_epoch
        base = batch.last_offset if batch.base_offset is None else batch.base_offset
        assert answer.header == LastBatch(base, batch.crc, epoch)
        assert (answer.last_offset, answer.magic) == (batch.last_offset, batch.magic)
    assert answer.header.crc == batch.crc
    assert answer.last_offset >= wanted


def test_a_file_that_is_gone_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(b"")
    request = _request(path, 5)
    assert find_batch(request) == LogEnd(0)
    path.unlink()
    assert find_batch(request) is None
    assert find_batch(replace(request, is_last=False)) is None
