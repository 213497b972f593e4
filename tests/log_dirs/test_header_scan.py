"""The survey of one segment: what headers tell, and when checksums have to."""

from collections.abc import Sequence
from pathlib import Path

from seglake.kafka_log.replica import SegmentFile
from seglake.log_dirs.header_scan import survey_segment, survey_segments
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.segment_codec.formats.errors import TailKind
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Reader
from support.encoder import EncodedBatch
from support.faults import bad_crc, with_length
from support.made_logs import FIRST_MS, STEP_MS, made_batches


class _Counting(LocalStorage):
    """Adds up how many bytes of files are read."""

    read_bytes_count = 0

    def open_reader(self, path: str) -> Reader:
        reader = super().open_reader(path)
        read = reader.read

        def counted(position: int, length: int) -> bytes:
            self.read_bytes_count += length
            return read(position, length)

        reader.read = counted  # type: ignore[method-assign]  # as a wrapper would
        return reader


def _request(data: Path, content: Sequence[EncodedBatch] | bytes) -> SurveyRequest:
    if not isinstance(content, bytes):
        content = b"".join(batch.data for batch in content)
    data.mkdir(exist_ok=True)
    path = data / f"{0:020}.log"
    path.write_bytes(content)
    return SurveyRequest(
        storage=LocalStorage(),
        file=SegmentFile(0, str(path), path.name, len(content), None),
        is_last=True,
        is_cleaned=False,
        split_bytes=1,
        window_bytes=1 << 16,
    )


def test_a_plain_segment_may_be_split_at_every_batch(data: Path) -> None:
    batches = made_batches("orders", 0, range(20))
    request = _request(data, batches)
    survey = survey_segment(request)
    assert (survey.first_offset, survey.next_offset, survey.is_plain) == (0, 20, True)
    assert [split.first_offset for split in survey.splits] == [0, 5, 10, 15]
    assert survey.newest_ms == FIRST_MS + 19 * STEP_MS
    size = len(batches[0].data)
    coarse = survey_segment(request._replace(split_bytes=2 * size))
    assert [split.first_offset for split in coarse.splits] == [0, 10]
    late = survey_segment(request._replace(start_offset=7))
    assert [split.first_offset for split in late.splits] == [5, 10, 15]


def test_no_split_begins_at_a_batch_whose_checksum_fails(data: Path) -> None:
    one, two, three = made_batches("orders", 0, range(15))
    survey = survey_segment(_request(data, [one, bad_crc(two), three]))
    assert (survey.is_plain, survey.next_offset) == (True, 15)
    assert [split.first_offset for split in survey.splits] == [0, 10]


def test_damage_to_a_header_makes_a_segment_one_split(data: Path) -> None:
    one, two, three = made_batches("orders", 0, range(15))
    survey = survey_segment(_request(data, [one, with_length(two, -1), three]))
    assert (survey.is_plain, survey.is_cut_open, survey.next_offset) == (False, False, 15)
    assert [tuple(split) for split in survey.splits] == [(0, 0, 0, -1, False)]
    assert [tuple(span) for span in survey.transactions.damage] == [(5, 10)]


def test_a_damaged_last_batch_is_never_taken_from_its_header(data: Path) -> None:
    one, two = made_batches("orders", 0, range(10))
    survey = survey_segment(_request(data, [one, bad_crc(two)]))
    assert (survey.next_offset, survey.tail) == (5, TailKind.UNFLUSHED)
    durable = _request(data, [one, bad_crc(two)])._replace(durable_offset=10)
    survey = survey_segment(durable)
    assert (survey.next_offset, survey.tail, survey.is_cut_open) == (5, None, True)


def test_of_large_batches_only_headers_are_read(data: Path) -> None:
    batches = made_batches("orders", 0, range(20), batch_records=1, value_bytes=50_000)
    storage = _Counting()
    request = _request(data, batches)._replace(storage=storage, split_bytes=1 << 30)
    assert survey_segment(request).next_offset == 20
    assert storage.read_bytes_count < request.file.size_bytes // 4


def test_a_file_that_is_gone_or_another_is_an_answer(data: Path) -> None:
    request = _request(data, made_batches("orders", 0, range(10)))
    gone = request._replace(file=request.file._replace(path=str(data / "gone.log")))
    smaller = request.file._replace(size_bytes=request.file.size_bytes - 1)
    other = request._replace(file=smaller, is_last=False)
    grown = other._replace(is_last=True)
    surveys = survey_segments((gone, other, grown))
    assert [survey.missing is None for survey in surveys] == [False, False, True]
    assert "no such file" in str(surveys[0].missing)
    assert "has changed its size since it was listed" in str(surveys[1].missing)
    assert surveys[2].size_bytes == request.file.size_bytes - 1


def test_a_damaged_time_neither_opens_nor_closes_a_window(data: Path) -> None:
    batches = made_batches("orders", 0, range(50), value_bytes=100)
    damaged = bytearray(batches[1].data)
    damaged[35] ^= 0x10  # of its newest time, so that it is far ahead
    batches[1] = batches[1]._replace(data=bytes(damaged))
    request = _request(data, batches)
    wanted = FIRST_MS + 30 * STEP_MS
    assert survey_segment(request._replace(from_ms=wanted)).window.from_offset == 30
    assert survey_segment(request._replace(to_ms=wanted)).window.to_offset == 30
