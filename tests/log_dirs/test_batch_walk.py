"""A replica batch by batch, from its headers."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from seglake.kafka_log.replica import SegmentFile
from seglake.log_dirs.batch_walk import BatchHead, LogHeads
from seglake.storage.local_storage import LocalStorage
from support.encoder import Codec, EncodedBatch, Header, Record, messages, record_batch, wrapper
from support.faults import bad_crc
from support.made_logs import made_batches


def _files(folder: Path, *segments: Sequence[EncodedBatch]) -> list[SegmentFile]:
    files = []
    folder.mkdir()
    for batches in segments:
        path = folder / f"{batches[0].base_offset:020}.log"
        path.write_bytes(b"".join(batch.data for batch in batches))
        size_bytes = path.stat().st_size
        files.append(SegmentFile(int(path.stem), str(path), path.name, size_bytes, None))
    return files


def _heads(
    files: Sequence[SegmentFile], start: int = 0, stop: int = 1000, cleaner_offset: int = 0
) -> list[BatchHead]:
    with closing(LogHeads(LocalStorage(), files, cleaner_offset).between((start, stop))) as heads:
        return list(heads)


def _records(count: int) -> list[Record]:
    return [Record(b"k", b"v") for _ in range(count)]


@pytest.mark.parametrize(
    ("offsets", "firsts"),
    [((0, 20), [0, 5, 10, 15]), ((5, 15), [5, 10]), ((6, 16), [10, 15]), ((20, 30), [])],
)
def test_batches_that_begin_in_a_range_come_in_order_across_segments(
    offsets: tuple[int, int], firsts: list[int], data: Path
) -> None:
    edges = (range(10), range(10, 20))
    files = _files(data, *(made_batches("orders", 0, offsets) for offsets in edges))
    assert [head.first_offset for head in _heads(files, *offsets)] == firsts


def test_what_comes_late_is_left_out(data: Path) -> None:
    one, two, three = made_batches("orders", 0, range(15))
    files = _files(data, [one, three, two])
    assert [head.first_offset for head in _heads(files)] == [0, 10]


def test_the_checksum_of_a_batch_is_computed_on_demand_only(data: Path) -> None:
    sound, damaged = made_batches("orders", 0, range(10))
    (file,) = _files(data, [sound, bad_crc(damaged)])
    log = LogHeads(LocalStorage(), [file], 0)
    assert log.is_sound(BatchHead(0, 4, 0, 0, True, 2, 0, 5, 0, len(sound.data))) is False
    assert [log.is_sound(head) for head in log.between((0, 10))] == [True, False]
    (first, _) = _heads([file])
    with closing(log.between((0, 10))) as heads:
        next(heads)
        assert log.content(first, 1 << 20) == sound.data
        assert log.content(first, 10) == sound.data[:10]


def test_a_batch_is_dense_while_no_cleaner_can_have_been_at_it(data: Path) -> None:
    cleaned = record_batch(5, _records(3), Header(last_offset_delta=4))
    horizon = record_batch(10, _records(5), Header(delete_horizon_ms=1))
    whole = [record_batch(base, _records(5)) for base in (0, 15)]
    files = _files(data, [whole[0], cleaned, horizon, whole[1]])
    assert [head.is_dense for head in _heads(files)] == [True, False, False, True]
    assert [head.is_dense for head in _heads(files, cleaner_offset=15)] == [*[False] * 3, True]


def test_old_messages_come_one_by_one_and_a_wrapper_from_behind_the_one_before(data: Path) -> None:
    packed = wrapper(3, _records(4), 1, Codec.GZIP)
    (file,) = _files(data, [*messages(0, _records(3), 1), packed])
    *plain, last = _heads([file])
    assert [(head.first_offset, head.record_count, head.codec_id) for head in plain] == [
        (offset, 1, 0) for offset in range(3)
    ]
    assert (last.first_offset, last.last_offset, last.record_count) == (3, 6, None)
    assert (last.magic, last.codec_id, last.leader_epoch) == (1, int(Codec.GZIP), None)


@pytest.mark.parametrize(("in_header", "known"), [(4, 4), (-1, None)])
def test_the_leader_epoch_is_that_of_the_header(
    in_header: int, known: int | None, data: Path
) -> None:
    files = _files(data, [record_batch(0, _records(2), Header(leader_epoch=in_header))])
    (head,) = _heads(files)
    assert (head.leader_epoch, head.last_offset, head.record_count) == (known, 1, 2)
