"""What an observation says beside the one before it, and when a bound is stuck."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from seglake.kafka_log.log_bounds import bounds_of
from seglake.kafka_log.observation import (
    Observation,
    StoppedBy,
    listing_of,
    stopped_by,
)
from seglake.kafka_log.read_policy import Isolation, ReadPolicy, UpperBound
from seglake.kafka_log.segment_survey import DataSpan
from support.planned import KEY, replica, survey

_T0 = datetime(2026, 11, 1, tzinfo=UTC)
_HOUR = timedelta(hours=1)
_LIMIT = 6 * _HOUR
_MARK = UpperBound.HIGH_WATERMARK


def _seen(hours: int, next_offset: int | None, log_end: int) -> Observation:
    return Observation(
        key=KEY,
        broker_id=0,
        log_start_offset=0,
        high_watermark=next_offset,
        last_stable_offset=next_offset,
        log_end_offset=log_end,
        next_offset=next_offset,
        stopped_by=StoppedBy.LOG_END if next_offset == log_end else StoppedBy.HIGH_WATERMARK,
        observed_at=_T0 + hours * _HOUR,
        run_id="run",
    )


def _newest(*seen: tuple[int, int | None, int]) -> Observation:
    """The last of a row of observations: hours, bound and log end."""
    newest: Observation | None = None
    for each in seen:
        newest = _seen(*each).after(newest)
    assert newest is not None
    return newest


def _is_stuck(hours: int, *seen: tuple[int, int | None, int]) -> bool:
    return _newest(*seen).is_stuck(_T0 + hours * _HOUR, _LIMIT)


def test_a_bound_that_stands_while_the_log_grows_is_stuck_behind_the_limit() -> None:
    grown = ((0, 10, 20), (3, 10, 30))
    assert not _is_stuck(6, *grown)
    assert _is_stuck(7, *grown)
    assert _newest(*grown).moved_offsets == 10


def test_a_log_that_never_moves_is_a_copy() -> None:
    assert not _is_stuck(1000, (0, 10, 20))
    assert not _is_stuck(1000, (0, 10, 20), (500, 10, 20))


def test_a_bound_that_moves_is_not_stuck_however_much_lies_above() -> None:
    assert not _is_stuck(8, (0, 10, 20), (7, 11, 500))
    assert not _is_stuck(13, (0, 10, 20), (7, 11, 500), (13, 11, 600))
    assert _is_stuck(14, (0, 10, 20), (7, 11, 500), (13, 11, 600))


def test_time_without_anything_above_does_not_count() -> None:
    """A topic that is written to once a day: its high watermark stands still all day."""
    assert not _is_stuck(25, (0, 10, 10), (24, 10, 12))
    assert _is_stuck(31, (0, 10, 10), (24, 10, 12))
    assert not _is_stuck(31, (0, 10, 10), (24, 10, 12), (25, 10, 10))


def test_a_bound_that_goes_back_with_a_new_leader_has_not_advanced() -> None:
    assert _is_stuck(7, (0, 10, 20), (3, 8, 30))
    assert not _is_stuck(7, (0, 10, 20), (3, 8, 30), (4, 11, 30))


def test_a_log_that_was_cut_off_grows_from_where_it_was_cut() -> None:
    newest = _newest((0, 50, 100), (1, 50, 60), (2, 50, 70))
    assert (newest.first_log_end_offset, newest.moved_offsets) == (60, 10)


def test_retention_is_no_progress_of_a_log_without_a_high_watermark() -> None:
    newest: Observation | None = None
    for hours, log_start, log_end in ((0, 0, 20), (3, 5, 30), (6, 12, 40)):
        seen = replace(_seen(hours, log_start, log_end), stopped_by=StoppedBy.NO_HIGH_WATERMARK)
        newest = seen.after(newest)
    assert newest is not None
    assert newest.waiting_since == _T0
    assert newest.is_stuck(_T0 + 7 * _HOUR, _LIMIT)


def test_nothing_waits_from_the_future_when_a_clock_is_set_back() -> None:
    assert _newest((1000, 10, 20), (1, 10, 30)).waiting_since == _T0 + _HOUR
    assert _is_stuck(8, (1000, 10, 20), (1, 10, 30))


def test_a_log_that_could_not_be_read_has_no_bound() -> None:
    unread = replace(_seen(1, None, 30), stopped_by=StoppedBy.UNREAD)
    newest = unread.after(_seen(0, 10, 20))
    assert (newest.waiting_since, newest.first_log_end_offset) == (None, 30)
    assert not newest.is_stuck(_T0 + 1000 * _HOUR, _LIMIT)


def test_a_bound_goes_on_to_stand_while_its_log_cannot_be_read() -> None:
    unread = replace(_seen(5, None, 30), high_watermark=10, stopped_by=StoppedBy.UNREAD)
    newest = unread.after(_newest((0, 10, 20)))
    assert not newest.is_stuck(_T0 + 1000 * _HOUR, _LIMIT)
    assert _seen(7, 10, 40).after(newest).is_stuck(_T0 + 7 * _HOUR, _LIMIT)
    assert not _seen(7, 12, 40).after(newest).is_stuck(_T0 + 7 * _HOUR, _LIMIT)


def test_only_the_time_and_the_run_may_differ_where_nothing_changed() -> None:
    first = _newest((0, 10, 20))
    again = replace(_seen(5, 10, 20), run_id="another").after(first)
    assert again.shows_the_same(first)
    assert not again.shows_the_same(None)
    assert not _newest((0, 10, 20), (5, 10, 21)).shows_the_same(first)


@pytest.mark.parametrize(
    ("high_watermark", "isolation", "is_open", "expected"),
    [
        (100, Isolation.READ_COMMITTED, False, StoppedBy.LOG_END),
        (90, Isolation.READ_COMMITTED, False, StoppedBy.HIGH_WATERMARK),
        (100, Isolation.READ_COMMITTED, True, StoppedBy.OPEN_TRANSACTION),
        (100, Isolation.READ_UNCOMMITTED, True, StoppedBy.LOG_END),
        (90, Isolation.READ_UNCOMMITTED, True, StoppedBy.HIGH_WATERMARK),
        (None, Isolation.READ_COMMITTED, False, StoppedBy.NO_HIGH_WATERMARK),
    ],
)
def test_what_stops_a_run_has_the_words_of_kafka(
    high_watermark: int | None, isolation: Isolation, is_open: bool, expected: StoppedBy
) -> None:
    policy = ReadPolicy(isolation=isolation)
    events = (DataSpan(30, 1, 1000),) if is_open else ()
    copy = replica(high_watermark=high_watermark)
    bounds = bounds_of(copy, (survey(0, 100, events=events),), policy)
    assert stopped_by(bounds, policy, has_tail=False) is expected


def test_a_transaction_that_is_passed_stops_nothing() -> None:
    policy = ReadPolicy(hanging_after_ms=1)
    surveys = (replace(survey(0, 100, events=(DataSpan(30, 1, 1000),)), newest_ms=5000),)
    bounds = bounds_of(replica(), surveys, policy)
    assert bounds.last_stable_offset == 30
    assert stopped_by(bounds, policy, has_tail=False) is StoppedBy.LOG_END


def test_the_listing_tells_of_the_last_segment_the_high_watermark_and_the_epoch() -> None:
    plain = replica((0, 50, 100))
    (*others, last) = plain.segments
    told = listing_of([plain], _MARK)
    changed = [
        plain._replace(segments=(*others, last._replace(size_bytes=7))),
        plain._replace(segments=(*others, last._replace(modified_at_ms=7))),
        replica((0, 50, 100, 110)),
        replica((0, 50, 100), high_watermark=7),
        replica((0, 50, 100), last_epoch=7),
        replica((0, 50, 100), is_future=True),
    ]
    assert told not in {listing_of([copy], _MARK) for copy in changed}
    assert told != listing_of([plain], UpperBound.LOG_END)
    assert told == listing_of([plain._replace(segments=(last,))], _MARK)  # by retention


def test_copies_of_a_log_are_listed_in_whatever_order() -> None:
    copies = [replica(broker_id=1), replica(broker_id=2, high_watermark=7)]
    assert listing_of(copies, _MARK) == listing_of(copies[::-1], _MARK)
    assert listing_of(copies, _MARK) != listing_of(copies[:1], _MARK)
