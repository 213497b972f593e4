"""Batches are found by their offset, with an offset index and without one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.kafka_log.log_identity import LogBatch
from seglake.kafka_log.replica import SegmentFile
from seglake.kafka_log.segment_survey import LastBatch
from seglake.log_dirs.batch_search import Answer, BatchRequest, LogEnd, find_batch
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Reader
from support import broker_disks
from support.dumps import DumpBatch
from support.encoder import OffsetEntry, Record, offset_index, positions_of, record_batch
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
    assert find_batch(request._replace(is_last=False)) is None


_COUNT, _STEP = 400, 4
_WANTED = 803


class _Counted(LocalStorage):
    """Counts the bytes that are read of segments."""

    segment_bytes = 0

    def open_reader(self, path: str) -> Reader:
        return _CountedReader(super().open_reader(path), self)


class _CountedReader:
    def __init__(self, inner: Reader, storage: _Counted) -> None:
        self._inner, self._storage = inner, storage

    @property
    def size_bytes(self) -> int:
        return self._inner.size_bytes

    def read(self, position: int, length: int) -> bytes:
        self._storage.segment_bytes += length
        return self._inner.read(position, length)

    def __enter__(self) -> "_CountedReader":
        self._inner.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._inner.__exit__(*raised)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """A segment of 1.6 MB, and where its batches begin."""
    values = [Record(None, bytes([65 + n % 7]) * 1000) for n in range(_STEP)]
    batches = [record_batch(n * _STEP, values) for n in range(_COUNT)]
    path = tmp_path_factory.mktemp("log") / "00000000000000000000.log"
    path.write_bytes(b"".join(batch.data for batch in batches))
    return path, positions_of(batches)


_WRONG: dict[str, Callable[[int], int]] = {
    "into the middle of a batch": lambda position: position + 700,
    "into a header": lambda position: position + 1,
    "beyond the end": lambda position: position + (1 << 28),
    "to a later batch": lambda position: position + 40_000,
}


@pytest.mark.parametrize("kind", _WRONG)
@pytest.mark.parametrize("wrong", [1, 5, 200])
def test_wrong_index_entries_cost_no_more_than_the_batches_back_to_a_right_one(
    kind: str, wrong: int, log: tuple[Path, list[int]]
) -> None:
    path, positions = log
    last = _WANTED // _STEP
    entries = [
        OffsetEntry(n * _STEP, _WRONG[kind](at) if last - wrong < n <= last else at)
        for n, at in enumerate(positions[: last + 1])
        if n > 0
    ]
    path.with_suffix(".index").write_bytes(offset_index(0, entries))
    storage = _Counted()
    answer = find_batch(_request(path, _WANTED)._replace(storage=storage))
    assert isinstance(answer, LogBatch)
    assert (answer.first_offset, answer.last_offset) == (800, 803)
    right_bytes = path.stat().st_size // _COUNT * min(2 * wrong + 1, last)
    assert storage.segment_bytes < 64 * 1024 + 2 * right_bytes
