"""Checksums of batches: in pieces, and of ranges that overlap, once too much was read in vain."""

from random import Random

import pytest

from seglake.segment_codec.formats.checksum import crc32c
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.walk import batch_checksums
from seglake.segment_codec.walk.batch_checksums import BatchChecksums
from seglake.segment_codec.walk.window import BytesSource, Window
from support.encoder import EncodedBatch, Record, message, positions_of, record_batch
from support.walks import laid_out, walked
from torture.hostile.bombs import batches_in_batches

CONTENT = Random(7).randbytes(200_000)


@pytest.fixture(params=[0, 1 << 40], ids=["of blocks", "in pieces"])
def most_repeated_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_checksums, "_MOST_REPEATED_BYTES", request.param)


@pytest.mark.usefixtures("most_repeated_bytes")
def test_checksum_is_that_of_the_bytes_wherever_they_begin() -> None:
    random = Random(1)
    for turn in range(40):
        before = CONTENT[: random.randrange(30_000)]
        parts = [
            make(turn + n, random.randbytes(random.choice((10, 9000, 40_000))))
            for n, make in enumerate(random.choices((_batch, _message), k=5))
        ]
        content = before + laid_out(*parts)
        checksums = BatchChecksums(Window(BytesSource(content), random.choice((64, 5000))))
        checksums.of(0, len(content), 1)
        places = [len(before) + at for at in positions_of(parts)]
        for part, place in random.sample(list(zip(parts, places, strict=True)), 5):
            expected = _checksum_in(part)
            found = checksums.of(place, len(part.data), part.data[16])
            assert found == expected, turn


def test_checksum_is_that_of_all_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_checksums, "_PIECE_BYTES", 64)
    (item,) = walked(record_batch(0, [Record(None, b"v" * 500)]).data)
    assert isinstance(item, RecordBatch)


def test_bytes_are_read_for_a_checksum_a_few_times_however_often_they_are_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_bytes = []

    def counted(data: memoryview, before: int) -> int:
        read_bytes.append(len(data))
        return crc32c(data, before)

    monkeypatch.setattr(batch_checksums, "crc32c", counted)
    content = batches_in_batches(12_000)
    assert [type(item) for item in walked(content, window_bytes=1 << 20)] == [Defect]
    assert sum(read_bytes) < 16 * (1 << 20) + len(content) * 200  # 4,000 times, else


def _batch(offset: int, value: bytes) -> EncodedBatch:
    return record_batch(offset, [Record(None, value)])


def _message(offset: int, value: bytes) -> EncodedBatch:
    return message(offset, Record(None, value), offset % 2)


def _checksum_in(part: EncodedBatch) -> int:
    place = 17 if part.data[16] == 2 else 12
    return int.from_bytes(part.data[place : place + 4], "big")
