"""Which logs without news are looked at all the same."""

from dataclasses import replace
from datetime import UTC, datetime

from seglake.kafka_log.observation import Observation, StoppedBy, has_moved, listing_of
from seglake.kafka_log.read_policy import UpperBound
from support.planned import KEY, replica

_MARK = UpperBound.HIGH_WATERMARK
_SEEN = Observation(
    key=KEY,
    broker_id=0,
    log_start_offset=0,
    high_watermark=100,
    stopped_by=StoppedBy.LOG_END,
    listing=listing_of([replica()], _MARK),
    observed_at=datetime(2026, 11, 1, tzinfo=UTC),
    run_id="run",
)


def test_a_log_whose_end_is_listed_as_it_was_is_not_looked_at() -> None:
    assert not has_moved(_SEEN, [replica()], _MARK)
    assert has_moved(_SEEN, [replica((0, 110))], _MARK)


def test_a_log_that_was_never_seen_or_not_whole_is_looked_at() -> None:
    assert has_moved(None, [replica()], _MARK)
    assert has_moved(replace(_SEEN, listing=None), [replica()], _MARK)


def test_a_replica_more_is_a_reason_to_look() -> None:
    assert has_moved(_SEEN, [replica(), replica(broker_id=1)], _MARK)


def test_where_there_is_no_segment_there_is_nothing_to_look_at() -> None:
    assert not has_moved(None, [replica()._replace(segments=())], _MARK)
