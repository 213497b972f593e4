"""Batches are found by their offset, and two of them are of one log or of two."""

from dataclasses import replace
from pathlib import Path

import pytest

from seglake.kafka_log.log_identity import (
    FoundBatch,
    IngestedBatch,
    Likeness,
    likeness,
    may_be_cleaned,
)
from seglake.kafka_log.replica import PartitionKey, SegmentFile
from seglake.kafka_log.segment_survey import LastBatch
from seglake.log_dirs.batch_search import Answer, BatchRequest, LogEnd, find_batch
from seglake.log_tables.coverage import Coverage, Frontier
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
    assert isinstance(answer, FoundBatch)
    if batch.magic < 2 and batch.codec == "none":  # a run of messages begins where it is asked for
        assert (answer.header.base_offset, answer.magic) == (batch.last_offset, batch.magic)
    else:
        epoch = batch.leader_epoch
        base = batch.last_offset if batch.base_offset is None else batch.base_offset
        assert answer.header == LastBatch(base, batch.crc, epoch)
        assert (answer.last_offset, answer.magic) == (batch.last_offset, batch.magic)
    assert answer.header.crc == batch.crc
    assert answer.last_offset >= wanted


def _found(
    first: int,
    last: int,
    crc: int = 1,
    *,
    magic: int = 2,
    wrapper: bool = False,
    whole: bool = True,
) -> FoundBatch:
    header = LastBatch(last if wrapper else first, crc, 0)
    return FoundBatch(header, first, last, magic, wrapper, whole)


def _taken(
    first: int,
    last: int,
    crc: int = 2,
    *,
    magic: int = 2,
    wrapper: bool = False,
    whole: bool = True,
) -> IngestedBatch:
    header = LastBatch(last if wrapper else first, crc, 0)
    return IngestedBatch(header, first, last, magic, wrapper, whole)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, Likeness.UNKNOWN),
        (_found(10, 19, crc=2), Likeness.SAME),
        (_found(10, 19), Likeness.OTHER),
        (_found(10, 14), Likeness.OTHER),
        (_found(8, 12), Likeness.OTHER),
        (_found(11, 19), Likeness.UNKNOWN),
        (_found(20, 29), Likeness.UNKNOWN),
        (_found(10, 19, crc=2)._replace(header=LastBatch(10, 2, 1)), Likeness.SAME),
        (_found(8, 12, crc=2), Likeness.SAME),
        (_found(11, 19, crc=2), Likeness.UNKNOWN),
    ],
)
def test_only_what_stands_at_the_place_of_a_batch_tells(
    found: FoundBatch | None, expected: Likeness
) -> None:
    assert likeness(LastBatch(10, 2, 0), found) is expected


_BATCHES = [
    ("nothing was taken out of either", _taken(10, 19), _found(10, 19), False),
    ("of this disk's, something was", _taken(10, 19), _found(10, 19, whole=False), True),
    ("of the lake's, something was", _taken(10, 19, whole=False), _found(10, 19), True),
    ("a batch keeps its ends", _taken(10, 19), _found(10, 15, whole=False), False),
    ("messages are not rewritten", _taken(10, 90, magic=1), _found(10, 40, magic=1), False),
]
_WRAPPERS = [
    ("both are whole", (10, 19, True), (10, 19, True), False),
    ("its inside is taken out", (10, 19, True), (10, 19, False), True),
    ("its first records are taken out", (10, 19, True), (15, 19, True), True),
    ("its last records are taken out", (10, 19, True), (10, 15, True), True),
    ("and of the lake's", (12, 14, True), (10, 19, True), True),
    ("one reaches across the other's end", (10, 19, True), (15, 24, True), False),
]


@pytest.mark.parametrize("case", range(len(_BATCHES)), ids=[case[0] for case in _BATCHES])
def test_a_cleaner_leaves_its_traces_in_a_batch(case: int) -> None:
    _, taken, found, expected = _BATCHES[case]
    assert may_be_cleaned(taken, found, None, lake_is_compacted=True) is expected
    assert may_be_cleaned(taken, found, 10, lake_is_compacted=True) is expected
    assert may_be_cleaned(taken, found, 11, lake_is_compacted=False)


@pytest.mark.parametrize("case", range(len(_WRAPPERS)), ids=[case[0] for case in _WRAPPERS])
def test_a_cleaner_leaves_its_traces_in_a_wrapper(case: int) -> None:
    _, old, new, expected = _WRAPPERS[case]
    taken = _taken(old[0], old[1], magic=1, wrapper=True, whole=old[2])
    found = _found(new[0], new[1], magic=1, wrapper=True, whole=new[2])
    assert may_be_cleaned(taken, found, None, lake_is_compacted=False) is expected


def test_a_batch_of_another_format_may_be_the_cleaners_if_there_is_one() -> None:
    taken, found = _taken(10, 19, magic=1, wrapper=True), _found(10, 19)
    assert not may_be_cleaned(taken, found, None, lake_is_compacted=False)
    assert may_be_cleaned(taken, found, None, lake_is_compacted=True)
    assert may_be_cleaned(taken, found, 0, lake_is_compacted=False)


def _row(start: int, stop: int, last: int | None, **other: object) -> dict[str, object]:
    row = {
        "topic": "orders",
        "partition": 0,
        "topic_id": None,
        "kind": "ingest",
        "start_offset": start,
        "next_offset": stop,
        "generation": start,
        "isolation": "read_committed",
        "leader_epoch": None if last is None else 3,
        "last_batch_base_offset": last,
        "last_batch_crc": None if last is None else last * 10,
    }
    return row | other


_KEY = PartitionKey("orders", 0, None)


def test_the_frontier_is_where_the_highest_batch_was_taken() -> None:
    rows = [_row(0, 10, 5), _row(40, 60, 45), _row(60, 80, None), _row(10, 40, 35)]
    assert Coverage(rows).frontier(_KEY) == Frontier(80, LastBatch(45, 450, 3), False)
    newest = [_row(40, 60, 45, generation=1), _row(0, 40, 35, generation=2)]
    assert Coverage(newest).frontier(_KEY) == Frontier(60, LastBatch(45, 450, 3), False)
    assert Coverage([_row(0, 10, None)]).frontier(_KEY) == Frontier(10, None, False)
    assert Coverage([_row(0, 10, 5, kind="repair")]).frontier(_KEY) is None
    assert Coverage(rows).frontier(_KEY._replace(partition=1)) is None


def test_the_frontier_tells_whether_the_ledger_names_the_topic() -> None:
    named = _KEY._replace(topic_id="a")
    rows = [_row(0, 10, 5), _row(10, 20, 15, topic_id="a"), _row(0, 30, 25, topic_id="b")]
    assert Coverage(rows).frontier(named) == Frontier(20, LastBatch(15, 150, 3), True)
    assert Coverage(rows[:1]).frontier(named) == Frontier(10, LastBatch(5, 50, 3), False)
    other = _row(0, 20, 15, topic_id="a", partition=1)
    assert Coverage([rows[0], other]).frontier(_KEY._replace(topic_id="b")) is None


def test_a_file_that_is_gone_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(b"")
    request = _request(path, 5)
    assert find_batch(request) == LogEnd(0)
    path.unlink()
    assert find_batch(request) is None
    assert find_batch(replace(request, is_last=False)) is None
