"""Where a log begins, ends and stops being ingested, from its checkpoints and surveys alone."""

from dataclasses import replace

import pytest

from seglake.kafka_log.log_bounds import bounds_of
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import Checkpoints
from seglake.kafka_log.segment_survey import DataSpan
from seglake.kafka_log.transaction_markers import Marker
from seglake.settings.settings import Settings
from support.planned import replica, survey

_UNCOMMITTED = Settings.from_mappings([("t", {"read": {"isolation": "read_uncommitted"}})])
_TO_THE_END = Settings.from_mappings([("t", {"read": {"upper_bound": "log_end"}})])


@pytest.mark.parametrize(
    ("has_file", "entry", "settings", "expected"),
    [
        (True, 70, Settings(), 70),
        (True, 170, Settings(), 100),
        (True, None, Settings(), 0),
        (False, None, Settings(), 100),
        (True, 70, _TO_THE_END, 100),
        (True, None, _TO_THE_END, 100),
    ],
)
def test_the_upper_bound_is_the_high_watermark_or_what_stands_for_it(
    has_file: bool, entry: int | None, settings: Settings, expected: int
) -> None:
    copy = replica(high_watermark=entry)
    if not has_file:
        copy = copy._replace(checkpoints=Checkpoints())
    bounds = bounds_of(copy, [survey(0, 100)], settings.read_policy)
    assert bounds.next_offset == expected
    assert bounds.log_end_offset == 100


def test_without_an_entry_a_partition_is_taken_up_to_its_log_start() -> None:
    copy = replica((20, 100), high_watermark=None)
    assert bounds_of(copy, [survey(20, 100)], Settings().read_policy).next_offset == 20


def test_a_log_start_above_the_log_end_is_not_believed() -> None:
    bounds = bounds_of(
        replica((20, 100), log_start_offset=101), [survey(20, 100)], Settings().read_policy
    )
    assert bounds.log_start_offset == 20
    assert "ignored as implausible" in bounds.notes[0]
    at_the_end = bounds_of(
        replica((20, 100), log_start_offset=100), [survey(20, 100)], Settings().read_policy
    )
    assert at_the_end.log_start_offset == 100
    assert not [note for note in at_the_end.notes if "implausible" in note]


@pytest.mark.parametrize(
    ("claimed", "has_remote_tier", "remote"),
    [(None, True, 20), (5, True, 5), (5, False, 20), (30, True, 30)],
)
def test_a_log_start_below_the_first_segment_is_where_the_remote_log_begins(
    claimed: int | None, has_remote_tier: bool, remote: int
) -> None:
    copy = replica((20, 100), log_start_offset=claimed, has_remote_tier=has_remote_tier)
    assert bounds_of(copy, [survey(20, 100)], Settings().read_policy).remote_offset == remote


def test_damage_at_the_end_of_a_log_does_not_hide_what_the_high_watermark_proves() -> None:
    copy = replica(high_watermark=120)
    assert (
        bounds_of(copy, [survey(0, 100, is_cut_open=True)], Settings().read_policy).next_offset
        == 120
    )
    assert bounds_of(copy, [survey(0, 100)], Settings().read_policy).next_offset == 100


def _events(*, is_ended: bool) -> tuple[Marker | DataSpan, ...]:
    ends = (Marker(80, 2, True),) if is_ended else ()
    return (DataSpan(30, 1), DataSpan(50, 2), Marker(60, 1, False), *ends)


def test_read_committed_stops_at_the_first_open_transaction() -> None:
    still_open = [survey(0, 100, events=_events(is_ended=False))]
    bounds = bounds_of(replica(), still_open, Settings().read_policy)
    assert (bounds.next_offset, bounds.last_stable_offset) == (50, 50)
    assert [
        (transaction.producer_id, transaction.first_offset)
        for transaction in bounds.open_transactions
    ] == [(2, 50)]
    uncommitted = bounds_of(replica(), still_open, _UNCOMMITTED.read_policy)
    assert (uncommitted.next_offset, uncommitted.last_stable_offset) == (100, 50)
    ended = bounds_of(
        replica(), [survey(0, 100, events=_events(is_ended=True))], Settings().read_policy
    )
    assert (ended.next_offset, ended.last_stable_offset) == (100, 100)


@pytest.mark.parametrize("high_watermark", [0, 30, 90, 100])
@pytest.mark.parametrize("is_ended", [True, False])
def test_the_last_stable_offset_is_never_above_the_high_watermark(
    high_watermark: int, is_ended: bool
) -> None:
    """Whatever a run ingests: of what no replica has acknowledged nothing is stable."""
    surveys = [survey(0, 100, events=_events(is_ended=is_ended))]
    policy = replace(_UNCOMMITTED.read_policy, upper_bound=UpperBound.LOG_END)
    bounds = bounds_of(replica(high_watermark=high_watermark), surveys, policy)
    assert bounds.next_offset == 100
    assert bounds.last_stable_offset == min(high_watermark, 100 if is_ended else 50)


def test_a_marker_above_the_high_watermark_ends_nothing() -> None:
    surveys = [survey(0, 100, events=_events(is_ended=True))]
    bounds = bounds_of(replica(high_watermark=80), surveys, Settings().read_policy)
    assert (bounds.next_offset, bounds.last_stable_offset) == (50, 50)
    assert bounds.markers == (Marker(60, 1, False),)
