"""A damaged log that is taken by several tasks gives what one task gives that reads it whole."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seglake.ingest_steps.committing.range_result import combine_reports
from seglake.ingest_steps.planning.plan import RangePlan, plan_ranges
from seglake.kafka_log.leader_epochs import leader_epochs_of
from seglake.kafka_log.log_bounds import bounds_of
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.replica import Replica, SegmentFile
from seglake.kafka_log.replica_selection import PartitionChoice
from seglake.kafka_log.segment_survey import SegmentSurvey, SplitPoint
from seglake.lake.tables import GAPS
from seglake.log_dirs.header_scan import survey_segment
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.segment_decoding.split_decoder import SplitDecoder
from seglake.segment_decoding.tasks import DecodeSettings
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from support.mixed_batches import KINDS, drawn_kinds, laid_out_kinds
from support.planned import decode_settings, partition_of, replica

_SEGMENT_OFFSETS = 400
_LENGTH_BYTE = 10  # third byte of a header's length: a flip adds 256 or more bytes


class Drawn(NamedTuple):
    """A log of several segments, what was done to its bytes, and what is wanted of it."""

    kinds: list[list[str]]
    steps: tuple[int, int]
    flips: list[tuple[float, int]]
    copies: list[tuple[float, float, float]]
    covered_share: float
    high_watermark: int
    is_cleaned: bool


# Where an old wrapper begins is not known, so one above the range may end it early.
_KINDS = set(KINDS) - {"wrapper"}
DRAWN = st.builds(
    Drawn,
    kinds=st.lists(drawn_kinds(_KINDS), min_size=1, max_size=3),
    steps=st.tuples(st.sampled_from([1, 3]), st.sampled_from([0, 0, 2])),
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), max_size=2),
    copies=st.lists(st.tuples(*[st.floats(0, 1, exclude_max=True)] * 3), max_size=1),
    covered_share=st.floats(0, 1) | st.just(0),
    high_watermark=st.sampled_from([100, 420, 10**9]),
    is_cleaned=st.booleans(),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log")


def _segments(drawn: Drawn) -> list[bytearray]:
    """Each segment's bytes; its offsets begin at its place times _SEGMENT_OFFSETS."""
    step, hole = drawn.steps
    segments = [
        bytearray(
            laid_out_kinds(kinds, step=step, hole=hole, first_offset=place * _SEGMENT_OFFSETS)
        )
        for place, kinds in enumerate(drawn.kinds)
    ]
    for place, bit in drawn.flips:
        segment = segments[int(place * len(segments))]
        segment[int(place * 7919) % len(segment)] ^= 1 << bit
    for start, length, target in drawn.copies:
        segment = segments[int(start * len(segments))]
        begin = int(start * len(segment))
        copied = segment[begin : begin + int(length * 500)]
        at = int(target * len(segment))
        segment[at:at] = copied
    return segments


def _log(folder: Path, drawn: Drawn) -> tuple[Replica, tuple[SegmentSurvey, ...]]:
    segments = _segments(drawn)
    bases = [place * _SEGMENT_OFFSETS for place in range(len(segments))]
    files = []
    for base, content in zip(bases, segments, strict=True):
        path = folder / f"{base:020}.log"
        path.write_bytes(content)
        files.append(SegmentFile(base, str(path), f"orders-0/{path.name}", len(content), None))
    copy = replica(high_watermark=drawn.high_watermark)._replace(
        segments=tuple(files), folder=str(folder)
    )
    if drawn.is_cleaned:
        copy = copy._replace(checkpoints=copy.checkpoints._replace(cleaner_offset=10**9))
    surveys = tuple(
        survey_segment(
            SurveyRequest(
                storage=LocalStorage(),
                file=file,
                is_last=file is files[-1],
                is_cleaned=drawn.is_cleaned,
                split_bytes=1,
                window_bytes=1 << 16,
                durable_offset=copy.durable_offset,
            )
        )
        for file in files
    )
    return copy, surveys


def _plans(drawn: Drawn, copy: Replica, surveys: Sequence[SegmentSurvey]) -> list[RangePlan]:
    options = Settings()
    object.__setattr__(options.read, "split_bytes", 1)
    choice = PartitionChoice(copy, tuple(surveys), leader_epochs_of(copy.epochs), (), ())
    bounds = bounds_of(copy, choice.surveys, options.read_policy)
    end = int(drawn.covered_share * surveys[0].next_offset)
    covered = ((0, end),) if end else ()
    return plan_ranges(partition_of(choice, bounds, covered), options)


def _whole(survey: SegmentSurvey, file: SegmentFile) -> SegmentSurvey:
    """The same, of a segment that is read by one task if anything in it is odd."""
    start = SplitPoint(0, file.base_offset, file.base_offset, -1, is_plain=False)
    return survey if survey.is_plain else replace(survey, splits=(start,))


# Any: the rows of all tables, and what of the report does not tell of the tasks.
def _taken(plans: Sequence[RangePlan], options: DecodeSettings) -> Any:
    rows: dict[str, list[Any]] = {}
    gaps: list[tuple[int, int, str]] = []
    told: list[Any] = []
    for planned in plans:
        decoders = [SplitDecoder(split, options) for split in planned.splits]
        for decoder in decoders:
            for table, found in decoder.rows():
                arrow = found if isinstance(found, pa.RecordBatch) else table.to_arrow(found)
                if table is GAPS:
                    gaps += [
                        (row["start_offset"], row["next_offset"], row["cause"])
                        for row in arrow.to_pylist()
                    ]
                else:
                    rows.setdefault(table.name, []).extend(arrow.to_pylist())
        result = combine_reports(planned, [decoder.report() for decoder in decoders])
        gaps += [(gap.start_offset, gap.next_offset, gap.cause) for gap in result.gaps]
        counts = result.totals._replace(gaps=0, offsets=0)
        told.append((planned.start_offset, result.next_offset, counts))
    for row in rows.get("quarantine", ()):
        del row["previous_offset"], row["next_offset"]  # of the batches around it in its task
    for found in rows.values():
        found.sort(key=str)
    return rows, sorted(map(_without_cleaner, gaps)), told


def _without_cleaner(gap: tuple[int, int, str]) -> tuple[int, int, str]:
    """A task knows the traces of the cleaner in its own segments only."""
    start, stop, cause = gap
    return start, stop, GapCause.MISSING if cause == GapCause.COMPACTED else cause


_FALSE_OFFSET_AT_THE_END = Drawn(
    kinds=[["plain", "far away", "plain"], ["plain", "plain"]],
    steps=(1, 0),
    flips=[],
    copies=[],
    covered_share=0,
    high_watermark=10**9,
    is_cleaned=False,
)


_WAITING_BEHIND_DAMAGE = _FALSE_OFFSET_AT_THE_END._replace(
    kinds=[["of three", "plain"], ["plain"] * 2 + ["transactional", "plain", "bad checksum"]]
)


# A copy is inserted into a batch, so false headers have a checksum of 0 and too large lengths.
_COPY_WITHIN_A_BATCH = _FALSE_OFFSET_AT_THE_END._replace(
    kinds=[["plain", "plain", "idempotent"] * 6],
    copies=[(0.00390625, 0.5, 0.125)],
    high_watermark=100,
)


@settings(max_examples=60)
@example(_COPY_WITHIN_A_BATCH)
@example(_WAITING_BEHIND_DAMAGE)
@example(_FALSE_OFFSET_AT_THE_END)
@given(drawn=DRAWN)
def test_rows_of_many_tasks_are_those_of_one(folder: Path, drawn: Drawn) -> None:
    copy, surveys = _log(folder, drawn)
    many = _plans(drawn, copy, surveys)
    whole = [_whole(survey, file) for survey, file in zip(surveys, copy.segments, strict=True)]
    one = _plans(drawn, copy, whole)
    options = replace(decode_settings(), reads_aborted=True)
    assert _taken(many, options) == _taken(one, options)


@pytest.mark.parametrize("bit", range(5))  # a higher one adds more bytes than the file has
@pytest.mark.parametrize("places", [[5], [5, 6], [5, 7]])
def test_false_lengths_beyond_a_task_are_judged_as_in_the_whole_segment(
    folder: Path, places: list[int], bit: int
) -> None:
    """Each damaged batch gets its own row, since its checksum proves its true length."""
    size_bytes = len(laid_out_kinds(["plain"]))
    at = [place * size_bytes + _LENGTH_BYTE for place in places]
    drawn = _FALSE_OFFSET_AT_THE_END._replace(
        kinds=[["plain"] * 80], flips=[((byte + 0.5) / 7919, bit) for byte in at]
    )
    copy, surveys = _log(folder, drawn)
    assert len(surveys[0].splits) > 1
    rows, _, _ = _taken(_plans(drawn, copy, surveys), decode_settings())
    found = {row["position"]: row["length_bytes"] for row in rows["quarantine"]}
    assert found == {place * size_bytes: size_bytes for place in places}
