"""What a run need not read of a tier: settled uploads, and the last one as it was recorded."""

from dataclasses import replace

import pytest

from seglake.kafka_log.observation import listing_of
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import RemoteObject, SegmentFile
from seglake.kafka_log.settled_logs import LastUpload, SettledLog
from support.planned import replica


def _upload(start: int, next_offset: int = 0, *, name: str = "") -> SegmentFile:
    """An upload as a folder lists it; its end and its size are unknown."""
    name = name or f"id-_{start}"
    remote = RemoteObject(name, next_offset=next_offset, stored_bytes=70 + start)
    return SegmentFile(start, f"/t/{start}-{name}.log", name, 70 + start, None, remote=remote)


_FILES = [_upload(start) for start in (0, 100, 200, 300)]
_STARTS = [0, 100, 200, 300]
_LAST = LastUpload(999, 0, 370, "id-_300", 400)


def _ends(settled: SettledLog, files: list[SegmentFile]) -> dict[int, int]:
    """The end of each segment that need not be read, by its start."""
    starts = sorted({file.base_offset for file in files})
    found = settled.ends(files, starts)
    return {file.base_offset: file.remote.next_offset for file in found if file.remote is not None}


def test_the_last_upload_is_found_again_in_the_text_of_a_listing() -> None:
    last = _upload(300, 400)._replace(size_bytes=999)
    for segments in ((_FILES[0], last), replica().segments):
        copies = [replica(broker_id=1), replica()._replace(segments=segments, last_upload=last)]
        assert LastUpload.in_listing(listing_of(copies, UpperBound.HIGH_WATERMARK)) == _LAST
    assert LastUpload.in_listing(listing_of(copies[:1], UpperBound.HIGH_WATERMARK)) is None
    assert LastUpload.in_listing(None) is None


def test_a_part_of_an_upload_is_not_recorded() -> None:
    (whole, local) = _upload(300, 400), replica().segments[0]
    assert whole.remote is not None
    part = whole._replace(remote=replace(whole.remote, stop_position=7))
    assert [LastUpload.of(each) is None for each in (whole, part, local)] == [False, True, True]


def test_without_a_record_the_last_two_ingested_uploads_are_read() -> None:
    assert _ends(SettledLog(covered=400, stable=400), _FILES) == {0: 100, 100: 200}


def test_with_a_record_of_the_last_upload_nothing_is_read() -> None:
    settled = SettledLog(covered=400, stable=400, last=_LAST)
    assert _ends(settled, _FILES) == {0: 100, 100: 200, 200: 300, 300: 400}
    (last,) = [file for file in settled.ends(_FILES, _STARTS) if file.base_offset == 300]
    assert last.remote is not None
    assert (last.size_bytes, last.remote.is_ingested) == (999, True)


def test_a_new_upload_is_read_and_no_other() -> None:
    settled = SettledLog(covered=400, stable=400, last=_LAST)
    assert _ends(settled, [*_FILES, _upload(400)]) == {0: 100, 100: 200, 200: 300, 300: 400}


def test_below_an_open_transaction_uploads_are_read_only_if_the_log_has_grown() -> None:
    settled = SettledLog(covered=400, stable=150, last=_LAST)
    assert _ends(settled, _FILES) == {0: 100, 100: 200, 200: 300, 300: 400}
    assert _ends(settled, [*_FILES, _upload(400)]) == {300: 400}


@pytest.mark.parametrize(
    "changed",
    [
        _FILES[-1]._replace(modified_at_ms=7),
        _upload(300, name="another"),
        _FILES[-1]._replace(remote=RemoteObject("id-_300", stored_bytes=7)),
    ],
)
def test_an_object_that_is_not_the_recorded_one_is_read(changed: SegmentFile) -> None:
    settled = SettledLog(covered=400, stable=400, last=_LAST)
    assert 300 not in _ends(settled, [*_FILES[:-1], changed])


def test_an_upload_that_is_not_ingested_to_its_end_is_read() -> None:
    assert 300 not in _ends(SettledLog(covered=399, stable=399, last=_LAST), _FILES)


@pytest.mark.parametrize("start", [300, 350])
def test_another_upload_of_the_same_offsets_is_read_with_the_recorded_one(start: int) -> None:
    """Only their leader epochs tell which one is in the log."""
    settled = SettledLog(covered=400, stable=400, last=_LAST)
    found = _ends(settled, [*_FILES, _upload(start, name="sibling")])
    assert {300, start} & found.keys() == set()


def test_uploads_that_an_earlier_run_has_compared_with_the_last_one_are_not_read_again() -> None:
    rivals = [_upload(300, name="again"), _upload(350, name="lost")]
    last = _LAST._replace(rivals="again,lost")
    settled = SettledLog(covered=400, stable=400, last=last)
    files = [*_FILES, *rivals]
    assert _ends(settled, files[:4]).keys() == {0, 100}
    assert _ends(settled, files[:5]).keys() == {0, 100}
    found = settled.ends(files, [*_STARTS, 350])
    ends = {file.name: file.remote.next_offset for file in found if file.remote is not None}
    assert [ends.pop(file.name) for file in _FILES] == [100, 200, 300, 400]
    assert ends == {"again": 301, "lost": 351}
    new = _upload(399, name="new")
    assert {350, 399} & _ends(settled, [*files, new]).keys() == set()


def test_an_upload_beside_a_gap_is_settled_and_one_within_it_is_read() -> None:
    settled = SettledLog(covered=400, stable=400, gaps=((120, 130),), last=_LAST)
    assert _ends(settled, _FILES).keys() == {200, 300}
    end = replace(settled, gaps=((390, 400),))
    assert _ends(end, _FILES).keys() == {0, 100}
    assert [settled.has(*offsets) for offsets in [(0, 120), (100, 200), (130, 401)]] == [
        True,
        False,
        False,
    ]
