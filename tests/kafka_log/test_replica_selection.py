"""Which replica of a partition is read, and what the others share with it, from values alone."""

from dataclasses import replace
from itertools import permutations

import pytest

from seglake.kafka_log.leader_epochs import OPEN_END
from seglake.kafka_log.replica import Checkpoints, PartitionKey, Replica
from seglake.kafka_log.replica_selection import (
    PartitionChoice,
    SurveyedReplica,
    choose,
    notes_of,
    replicas_by_partition,
)
from support.planned import epoch_starts, replica, replica_with_epochs, survey


def _surveyed(copy: Replica, *, is_plain: bool = True) -> SurveyedReplica:
    end = copy.segments[-1].size_bytes // 10 if copy.segments else 0
    return SurveyedReplica(copy, (survey(0, end, is_plain=is_plain),) if copy.segments else ())


def _choice(*copies: Replica, is_bounded: bool = True) -> PartitionChoice:
    """The same whatever the order of the copies."""
    found = []
    for order in permutations(copies):
        (informed,) = replicas_by_partition(order)
        found.append(choose([_surveyed(each) for each in informed], is_bounded=is_bounded))
    assert len({choice.chosen for choice in found}) == 1
    return found[0]


def _siblings(choice: PartitionChoice) -> dict[int | None, tuple[int, int]]:
    return {
        other_replica.replica.broker_id: (
            other_replica.common_next_offset,
            other_replica.divergence_offset,
        )
        for other_replica in choice.other_replicas
    }


def test_the_copy_of_the_newest_leader_is_read_though_it_is_the_shortest() -> None:
    old = replica_with_epochs(0, 230, (0, 0), (1, 170), high_watermark=230)
    lost = replica_with_epochs(1, 200, (0, 0), (1, 170), high_watermark=100)
    new = replica_with_epochs(2, 180, (0, 0), (4, 170), high_watermark=180)
    choice = _choice(old, lost, new)
    assert choice.chosen.broker_id == 2
    assert _siblings(choice) == {0: (170, 170), 1: (170, 170)}


def test_of_one_epoch_the_copy_is_read_that_has_most() -> None:
    choice = _choice(
        replica_with_epochs(1, 90, (2, 0)), replica_with_epochs(2, 200, (2, 0)), is_bounded=False
    )
    assert choice.chosen.broker_id == 2
    assert _siblings(choice) == {1: (90, OPEN_END)}


def test_what_lies_above_the_high_watermark_makes_no_copy_better() -> None:
    whole = replica_with_epochs(1, 100, (0, 0), high_watermark=100)
    longer = replica_with_epochs(2, 150, (0, 0), high_watermark=90)
    (informed,) = replicas_by_partition([whole, longer])
    for is_bounded, broker_id in ((True, 1), (False, 2)):
        found = choose(
            [_surveyed(each, is_plain=each.broker_id == 1) for each in informed],
            is_bounded=is_bounded,
        )
        assert found.chosen.broker_id == broker_id


def test_an_epoch_that_only_the_batches_know_wins() -> None:
    told = SurveyedReplica(replica_with_epochs(1, 100, (0, 0)), (survey(0, 100),))
    facts = epoch_starts((0, 0), (0, 40), (3, 50), (3, 90))
    silent = SurveyedReplica(replica_with_epochs(2, 100), (replace(survey(0, 100), epochs=facts),))
    choice = choose([told, silent], is_bounded=True)
    assert choice.chosen.broker_id == 2
    assert _siblings(choice) == {1: (50, 50)}


def test_a_lone_batch_with_an_epoch_that_nobody_knows_is_not_believed() -> None:
    facts = epoch_starts((0, 0), (0, 80), (9999, 90))
    flipped = SurveyedReplica(
        replica_with_epochs(1, 100, (0, 0)), (replace(survey(0, 100), epochs=facts),)
    )
    sound = SurveyedReplica(replica_with_epochs(2, 100, (0, 0), (1, 50)), (survey(0, 100),))
    assert choose([flipped, sound], is_bounded=True).chosen.broker_id == 2
    assert choose([flipped], is_bounded=True).notes == (
        "orders-0: the batch at offset 90 has leader epoch 9999, the log has 0 there; no checksum "
        "covers leader epochs",
    )


def test_a_copy_that_cannot_be_read_is_named_and_another_one_taken() -> None:
    gone = replace(survey(0, 100), missing="it is gone")
    copies = [
        SurveyedReplica(replica_with_epochs(1, 100, (0, 0)), (gone,)),
        SurveyedReplica(replica_with_epochs(2, 90, (0, 0)), (survey(0, 90),)),
    ]
    choice = choose(copies, is_bounded=True)
    assert choice.chosen.broker_id == 2
    assert notes_of([[copy.replica for copy in copies]], [choice]) == [
        "orders-0: the replica in /disks/1/orders-0 cannot be used: it is gone"
    ]


def test_the_newest_leaders_copy_is_waited_for_when_it_cannot_be_read() -> None:
    copies = [
        SurveyedReplica(
            replica_with_epochs(1, 100, (0, 0), (2, 90)), (replace(survey(0, 9), missing="gone"),)
        ),
        SurveyedReplica(replica_with_epochs(2, 200, (0, 0), (1, 90)), (survey(0, 200),)),
    ]
    assert choose(copies, is_bounded=True).chosen.broker_id == 1


def test_an_unfinished_copy_counts_only_where_it_is_alone() -> None:
    future = replica_with_epochs(2, 200, (9, 0), is_future=True, high_watermark=200)
    live = replica_with_epochs(1, 100, (0, 0), high_watermark=80)
    choice = _choice(future, live)
    assert (choice.chosen.broker_id, choice.chosen.checkpoints.high_watermark) == (1, 80)
    assert notes_of([[future, live]], [choice]) == [
        "1 unfinished copies to other disks (-future) are not read"
    ]
    alone = _choice(future)
    assert (alone.chosen, alone.other_replicas, notes_of([[future]], [alone])) == (future, (), [])


@pytest.mark.parametrize(("end", "is_sibling"), [(70, False), (80, True)])
def test_an_unfinished_copy_is_a_sibling_when_it_has_all_that_is_taken(
    end: int, is_sibling: bool
) -> None:
    future = replica_with_epochs(2, end, (0, 0), is_future=True)
    choice = _choice(replica_with_epochs(1, 100, (0, 0), high_watermark=80), future)
    assert bool(choice.other_replicas) == is_sibling


def test_topics_made_again_and_other_partitions_are_logs_of_their_own() -> None:
    keys = [("a", 1, "x"), ("a", 1, "y"), ("a", 0, "x"), ("b", 0, None)]
    logs = replicas_by_partition(replica(key=PartitionKey(*key)) for key in keys)
    found = [tuple(copy.key) for copies in logs for copy in copies]
    assert found == sorted(keys, key=lambda key: key[:2])


# --- what checkpoint files prove of a log that is shared ----------------------------------------


def test_a_copy_without_a_high_watermark_file_takes_that_of_another() -> None:
    one = replica((0, 200), broker_id=1)._replace(checkpoints=Checkpoints())
    other = replica((0, 100), broker_id=2, high_watermark=60)
    (informed, _), *_ = replicas_by_partition([one, other])
    assert informed.checkpoints.has_high_watermarks
    assert informed.checkpoints.high_watermark == 60


def test_the_high_watermark_is_the_highest_that_a_copy_of_the_same_log_knows() -> None:
    choice = _choice(
        replica_with_epochs(
            0, 230, (0, 0), (1, 170), high_watermark=230
        ),  # up to where it is the same log
        replica_with_epochs(1, 200, (0, 0), (4, 170), high_watermark=90),
        replica_with_epochs(2, 150, (0, 0), high_watermark=150),  # lags
    )
    assert (choice.chosen.broker_id, choice.chosen.checkpoints.high_watermark) == (1, 170)


@pytest.mark.parametrize(("claimed", "expected"), [(40, 40), (10, 20), (95, 20), (None, 20)])
def test_the_log_start_is_the_highest_that_a_copy_of_the_same_log_claims(
    claimed: int | None, expected: int
) -> None:
    """One above its own high watermark is no log start."""
    choice = _choice(
        replica_with_epochs(1, 100, (0, 0), high_watermark=90, log_start_offset=20),
        replica_with_epochs(2, 90, (0, 0), high_watermark=90, log_start_offset=claimed),
        is_bounded=False,
    )
    assert (choice.chosen.broker_id, choice.chosen.checkpoints.log_start_offset) == (1, expected)


# --- which partitions are worth a look ----------------------------------------------------------
