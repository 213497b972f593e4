"""What of a log lies above what a run ingests, and why."""

from dataclasses import replace

import pytest

from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.ingest_steps.report.unread import (
    lost_tails,
    open_transactions,
    unread_ranges,
)
from seglake.kafka_log.leader_epochs import leader_epochs_of
from seglake.kafka_log.log_bounds import bounds_of
from seglake.kafka_log.replica_selection import OtherReplica, PartitionChoice
from seglake.kafka_log.segment_survey import DataSpan
from seglake.segment_codec.formats.errors import TailKind
from seglake.settings.settings import Settings
from support.planned import beside, partition_of, replica, survey, surveyed

_BLOCKS = FindingKind.BLOCKING_TRANSACTION
_SKIPPED = FindingKind.UNDECIDED_TRANSACTION
_INCLUDED = FindingKind.OPEN_ROWS
_OPEN = (DataSpan(30, 1, 1000), DataSpan(50, 2, 2500))


def _settings(**sections: dict[str, object]) -> Settings:
    return Settings.from_mappings([("test", sections)])


def _with_open_transactions(settings: Settings) -> SurveyedPartition:
    surveys = (replace(survey(0, 100, events=_OPEN), newest_ms=4000),)
    bounds = bounds_of(replica(), surveys, settings.read_policy)
    choice = PartitionChoice(replica(), surveys, leader_epochs_of(()), (), ())
    return partition_of(choice, bounds)


def _texts(partition: SurveyedPartition, settings: Settings) -> list[str]:
    return [found.reason for found in unread_ranges(partition, settings)]


def test_a_log_that_is_ingested_whole_leaves_nothing() -> None:
    assert unread_ranges(surveyed(), Settings()) == []


@pytest.mark.parametrize(
    ("mark", "said"), [(99, "1 offset lies above the high"), (90, "10 offsets lie above the high")]
)
def test_what_lies_above_the_high_watermark_is_counted(mark: int, said: str) -> None:
    (left,) = unread_ranges(surveyed(high_watermark=mark), Settings())
    assert (left.from_offset, left.log_end_offset) == (mark, 100)
    assert left.reason == f"{said} watermark {mark}"


@pytest.mark.parametrize(
    ("isolation", "after", "kinds"),
    [
        ("read_committed", None, [_BLOCKS, _BLOCKS]),
        ("read_committed", "2s", [_SKIPPED, _BLOCKS]),
        ("read_committed", "1s", [_SKIPPED, _SKIPPED]),
        ("read_uncommitted", None, [_INCLUDED, _INCLUDED]),
    ],
)
def test_an_open_transaction_has_its_age_and_what_a_run_does_about_it(
    isolation: str, after: str | None, kinds: list[FindingKind]
) -> None:
    limits: dict[str, object] = {} if after is None else {"hanging_transaction_after": after}
    settings = _settings(read={"isolation": isolation}, limits=limits)
    found = [*open_transactions(_with_open_transactions(settings), (), settings)]
    assert [each.kind for each in found] == kinds
    assert [(each.place, each.facts) for each in found] == [
        ("orders-0", {"producer_id": 1, "first_offset": 30, "age_ms": 3000}),
        ("orders-0", {"producer_id": 2, "first_offset": 50, "age_ms": 1500}),
    ]


def test_what_waits_for_a_transaction_names_the_oldest_and_counts_the_others() -> None:
    settings = _settings(read={"isolation": "read_committed"})
    assert _texts(_with_open_transactions(settings), settings) == [
        "producer 1 has a transaction open since offset 30, 3 s before the newest record; "
        "70 offsets wait for its end (1 more open)"
    ]
    hanging = _settings(
        read={"isolation": "read_committed"}, limits={"hanging_transaction_after": "1s"}
    )
    assert _texts(_with_open_transactions(hanging), hanging) == []


@pytest.mark.parametrize("tail", [TailKind.TORN, TailKind.UNFLUSHED])
def test_how_a_log_ends_is_said_behind_what_is_ingested(tail: TailKind) -> None:
    partition = surveyed((0, 50, 100))
    *others, last = partition.surveys
    choice = partition.choice._replace(surveys=(*others, replace(last, tail=tail)))
    (left,) = unread_ranges(partition._replace(choice=choice), Settings())
    assert left.reason.startswith(f"the last segment ends in {tail} (")
    assert (left.from_offset, left.log_end_offset) == (100, 100)


def test_only_the_part_of_a_lost_tail_that_nothing_covers_yet_is_named() -> None:
    loser = OtherReplica(replica(broker_id=2), (), 130, divergence_offset=60, common_next_offset=60)
    partition = beside(surveyed(), loser)
    (lost,) = lost_tails(partition, Settings())
    assert lost.ranges == ((100, 130),)
    assert lost.text.startswith("orders-0: /disks/2/orders-0 has offsets [100, 130) (up to 30")
    assert "which are not in the log that won; quarantine gets them once" in lost.text
    assert unread_ranges(partition, Settings()) == []  # no later run takes them
    covered = partition._replace(covered=((0, 120),))
    assert [found.ranges for found in lost_tails(covered, Settings())] == [((120, 130),)]
    below = beside(partition, loser._replace(log_end_offset=100))
    assert [*lost_tails(below, Settings())] == []
    to_the_end = Settings.from_mappings([("t", {"read": {"upper_bound": "log_end"}})])
    assert [*lost_tails(partition, to_the_end)] == []  # quarantine has it after this run
