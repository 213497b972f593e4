"""Damage costs its own piece of a segment, and what must be judged together stays together."""

from pathlib import Path

from seglake.kafka_log.replica import SegmentFile
from seglake.kafka_log.segment_survey import SplitPoint
from seglake.log_dirs.header_scan import survey_segment
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.storage.local_storage import LocalStorage
from support.encoder import Codec, EncodedBatch, Record, wrapper
from support.faults import bad_crc, batch, with_length
from support.walks import laid_out


def _splits(folder: Path, batches: list[EncodedBatch]) -> tuple[SplitPoint, ...]:
    path = folder / f"{0:020}.log"
    path.write_bytes(laid_out(*batches))
    request = SurveyRequest(
        storage=LocalStorage(),
        file=SegmentFile(0, str(path), path.name, path.stat().st_size, None),
        is_last=True,
        is_cleaned=False,
        split_bytes=1,
        window_bytes=1 << 16,
    )
    return survey_segment(request).splits


def _pieces(splits: tuple[SplitPoint, ...]) -> list[tuple[int, bool]]:
    return [(split.first_offset, split.is_plain) for split in splits]


def test_tasks_begin_beside_damage(tmp_path: Path) -> None:
    batches = [batch(offset) for offset in range(0, 30, 2)]
    batches[7] = with_length(batches[7], -1)
    before = [(0, True), *((offset, True) for offset in (6, 8, 10))]
    after = [(offset, True) for offset in range(22, 30, 2)]
    assert _pieces(_splits(tmp_path, batches)) == [*before, (12, False), *after]


def test_what_comes_late_is_with_what_it_comes_behind(tmp_path: Path) -> None:
    rising = [batch(offset) for offset in range(0, 30, 2)]
    late = rising.pop(5)
    rising.insert(12, late)
    found = _pieces(_splits(tmp_path, rising))
    assert found == [(0, True), (6, True), (8, False)]


def test_what_comes_late_into_the_place_of_damage_is_with_all_above_it(tmp_path: Path) -> None:
    batches = [batch(offset) for offset in range(0, 40, 2)]
    late = batches[5]
    batches[5] = bad_crc(late)
    found = _pieces(_splits(tmp_path, [*batches, late]))
    assert found == [(0, True), (6, True), (8, False)]


def test_copy_is_with_all_that_it_copies(tmp_path: Path) -> None:
    batches = [batch(offset) for offset in range(0, 30, 2)]
    found = _pieces(_splits(tmp_path, [*batches, batches[6], batches[7]]))
    assert found == [(0, True), (6, True), (8, True), (10, True), (12, False)]


def test_hole_is_with_the_damage_behind_it(tmp_path: Path) -> None:
    """A log with holes needs more to prove that an offset is false."""
    batches = [batch(offset) for offset in range(0, 44, 2) if offset != 6]
    batches[15] = with_length(batches[15], -1)
    found = _pieces(_splits(tmp_path, batches))
    assert found[0] == (0, False)
    assert found[1:] == [(offset, True) for offset in (40, 42)]


def test_second_damage_leaves_what_lies_between_apart(tmp_path: Path) -> None:
    batches = [batch(offset) for offset in range(0, 60, 2)]
    for place in (7, 20):
        batches[place] = with_length(batches[place], -1)
    found = _pieces(_splits(tmp_path, batches))
    assert [first for first, is_plain in found if not is_plain] == [12, 38]


def test_no_task_begins_behind_an_old_wrapper_in_front_of_damage(tmp_path: Path) -> None:
    """Whether a hole lies before it, only its records tell."""
    old = [wrapper(offset, [Record(), Record()], 1, Codec.GZIP) for offset in (0, 2, 4)]
    batches = [*old, *(batch(offset) for offset in range(6, 40, 2))]
    batches[10] = with_length(batches[10], -1)
    first, *others = _pieces(_splits(tmp_path, batches))
    assert first == (0, False)
    assert all(is_plain for _, is_plain in others)
    assert others[0][0] > 20


def test_old_wrapper_that_comes_late_is_with_all_that_it_may_come_behind(tmp_path: Path) -> None:
    """Only its records tell in which hole it belongs."""
    batches = [batch(offset) for offset in range(0, 40, 2)]
    batches[5] = bad_crc(batches[5])
    late = wrapper(10, [Record(), Record()], 1, Codec.GZIP)
    assert _pieces(_splits(tmp_path, [*batches, late])) == [(0, False)]
