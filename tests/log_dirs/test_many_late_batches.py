"""Many batches that came late beside much damage: what a survey does grows as they do."""

import cProfile
from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.kafka_log.replica import SegmentFile
from seglake.log_dirs.header_scan import survey_segment
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.storage.local_storage import LocalStorage
from support.encoder import EncodedBatch, Record, record_batch
from support.faults import bad_crc
from support.walks import laid_out

_COUNT = 150
_MOST_TIMES = 2.3  # calls for twice as many batches; 4 where each looks at all others


def batch(offset: int) -> EncodedBatch:
    """So small that a damaged one may have been a marker."""
    return record_batch(offset, [Record(None, b"x")])


def _late_then_damage(count: int) -> list[EncodedBatch]:
    early = [batch(2 * n + 1) for n in range(count)]
    late = [batch(2 * n) for n in range(count)]
    return [*early, *late, *(bad_crc(batch(2 * count + n)) for n in range(count))]


def _late_between_damage(count: int) -> list[EncodedBatch]:
    early = [made for n in range(count) for made in (bad_crc(batch(2 * n)), batch(2 * n + 1))]
    late = [made for n in range(count) for made in (batch(2 * n), bad_crc(batch(2 * n)))]
    return [*early, *late]


def _latest_first(count: int) -> list[EncodedBatch]:
    return (
        _late_between_damage(count)[: 2 * count] + _late_between_damage(count)[: 2 * count - 1 : -1]
    )


@pytest.mark.parametrize("made", [_late_then_damage, _late_between_damage, _latest_first])
def test_work_grows_as_the_batches_do(
    made: Callable[[int], list[EncodedBatch]], tmp_path: Path
) -> None:
    _calls(tmp_path, made(4))  # what is compiled or imported once
    few, twice, four_times = (_calls(tmp_path, made(times * _COUNT)) for times in (1, 2, 4))
    assert four_times - twice < _MOST_TIMES * (twice - few)


def _calls(folder: Path, batches: list[EncodedBatch]) -> int:
    """How many functions a survey of these batches calls."""
    path = folder / f"{0:020}.log"
    path.write_bytes(laid_out(*batches))
    request = SurveyRequest(
        storage=LocalStorage(),
        file=SegmentFile(0, str(path), path.name, path.stat().st_size, None),
        is_last=True,
        is_cleaned=False,
        split_bytes=1 << 20,
        window_bytes=1 << 20,
    )
    profile = cProfile.Profile()
    profile.runcall(survey_segment, request)
    return sum(entry.callcount for entry in profile.getstats())
