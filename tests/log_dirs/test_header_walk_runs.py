"""A survey by runs says of a segment what a survey batch by batch says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seglake.kafka_log.replica import SegmentFile
from seglake.kafka_log.segment_survey import SegmentSurvey
from seglake.log_dirs import header_scan
from seglake.log_dirs.header_scan import survey_segment
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.segment_codec.walk.run_finder import RunFinder
from seglake.storage.local_storage import LocalStorage
from support.mixed_batches import drawn_kinds, laid_out_kinds


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("survey") / f"{0:020}.log"


def _request(path: Path, content: bytes) -> SurveyRequest:
    path.write_bytes(content)
    return SurveyRequest(
        storage=LocalStorage(),
        file=SegmentFile(0, str(path), path.name, len(content), None),
        is_last=True,
        is_cleaned=False,
        split_bytes=1,
        window_bytes=1 << 16,
    )


def _by_batches(request: SurveyRequest) -> SegmentSurvey:
    with patch.object(RunFinder, "run_at", lambda *_: None):
        return survey_segment(request)


@given(
    kinds=drawn_kinds(),
    steps=st.tuples(st.integers(1, 3), st.integers(0, 4)),
    facts=st.fixed_dictionaries(
        {
            "split_bytes": st.sampled_from([1, 160, 300, 1 << 20]),
            "start_offset": st.integers(0, 150),
            "run_breaks": st.tuples(st.integers(0, 150)),
            "walk_offset": st.integers(0, 150),
            "from_ms": st.none() | st.integers(0, 150),
            "to_ms": st.none() | st.integers(0, 150),
            "is_cleaned": st.booleans(),
        }
    ),
    read_bytes=st.sampled_from([61, 100, 150, 400, 1 << 12]),
    cut_bytes=st.just(0) | st.integers(1, 100),
)
@settings(max_examples=400)
def test_survey_by_runs_is_that_by_batches(
    path: Path,
    kinds: list[str],
    steps: tuple[int, int],
    facts: dict[str, Any],
    read_bytes: int,
    cut_bytes: int,
) -> None:
    step, hole = steps
    whole = [*kinds, "large"] if cut_bytes else kinds
    content = laid_out_kinds(whole, step=step, hole=hole)
    request = _request(path, content[: len(content) - cut_bytes])._replace(**facts)
    expected = _by_batches(request)
    with _reads_of(read_bytes):
        assert survey_segment(request) == expected


def test_split_begins_at_a_batch_that_lies_exactly_where_it_is_due(path: Path) -> None:
    content = laid_out_kinds(["plain"] * 40, step=1)
    every = len(content) // 10
    survey = survey_segment(_request(path, content)._replace(split_bytes=every))
    splits = [split.position for split in survey.splits]
    assert splits == list(range(0, len(content), every))


@contextmanager
def _reads_of(size_bytes: int) -> Iterator[None]:
    """Files are read in so small pieces that batches lie across their ends."""
    with (
        patch.object(header_scan, "_HEADER_READ_BYTES", size_bytes),
        patch.object(header_scan, "_MOST_READ_BYTES", 2 * size_bytes),
    ):
        yield


def test_small_batches_are_surveyed_in_runs(path: Path) -> None:
    """Or the test above compares nothing."""
    request = _request(path, laid_out_kinds(["idempotent"] * 5000, step=1))
    with patch.object(RunFinder, "run_at", autospec=True, side_effect=RunFinder.run_at) as found:
        survey = survey_segment(request)
    assert (survey.next_offset, survey.is_plain) == (5000, True)
    assert found.call_count < 100
    assert survey == _by_batches(request)
