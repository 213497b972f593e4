"""Which offsets are proved and not there, from names and numbers alone."""

import pytest

from seglake.kafka_log.replica import Checkpoints, EndClaim, Replica
from seglake.kafka_log.short_logs import absent_log, end_claim, short_log
from support.planned import KEY, epoch_starts, replica


def _replica(
    *,
    high_watermark: int | None = None,
    recovery_point: int | None = None,
    log_start_offset: int | None = None,
) -> Replica:
    """A copy with the offsets [0, 100), and checkpoints that say what is given."""
    checkpoints = Checkpoints(
        high_watermark=high_watermark,
        recovery_point=recovery_point,
        log_start_offset=log_start_offset,
    )
    return replica()._replace(checkpoints=checkpoints, epochs=())


@pytest.mark.parametrize(
    ("copy", "stated_by"),
    [
        (_replica(high_watermark=170), "replication-offset-checkpoint"),
        (_replica(high_watermark=90, recovery_point=170), "recovery-point-offset-checkpoint"),
        (
            _replica(high_watermark=90)._replace(epochs=epoch_starts((3, 20), (4, 170))),
            "leader-epoch-checkpoint",
        ),
        (
            _replica(high_watermark=90)._replace(last_side_file=EndClaim(170, "170.snapshot")),
            "170.snapshot",
        ),
    ],
)
def test_each_file_beside_a_log_proves_how_far_it_reached(copy: Replica, stated_by: str) -> None:
    assert end_claim(copy) == (170, stated_by)
    found = short_log(copy, 100, ())
    assert found is not None
    assert (found.ranges, found.offsets) == (((100, 170),), 70)
    assert found.reason == (
        f"orders-0: [100, 170): {stated_by} says 170, the log in /disks/0/orders-0 ends at 100"
    )


def test_a_log_that_is_as_long_as_its_files_say_or_longer_is_not_short() -> None:
    assert short_log(_replica(high_watermark=100), 100, ()) is None
    assert short_log(_replica(high_watermark=100), 140, ()) is None
    assert short_log(_replica(), 100, ()) is None


@pytest.mark.parametrize(("cleaner_offset", "start"), [(150, 120), (110, 110), (90, 100)])
def test_the_cleaner_may_have_emptied_the_end_below_the_active_segment(
    cleaner_offset: int, start: int
) -> None:
    copy = replica((0, 120, 121), high_watermark=170)
    checkpoints = copy.checkpoints._replace(cleaner_offset=cleaner_offset)
    found = short_log(copy._replace(checkpoints=checkpoints), 100, ())
    assert found is not None
    assert found.ranges == ((start, 170),)


def test_what_the_lake_has_is_not_lacking() -> None:
    copy = _replica(high_watermark=170)
    assert short_log(copy, 100, [(0, 170)]) is None
    found = short_log(copy, 100, [(0, 120), (130, 140)])
    assert found is not None
    assert found.ranges == ((120, 130), (140, 170))


def test_a_log_without_a_segment_lacks_everything_from_its_log_start_on() -> None:
    copy = _replica(high_watermark=170, log_start_offset=30)._replace(segments=())
    found = short_log(copy, 0, ())
    assert found is not None
    assert found.ranges == ((30, 170),)
    assert found.reason.endswith("there is no segment in /disks/0/orders-0")
    emptied = _replica(high_watermark=170, log_start_offset=170)._replace(segments=())
    assert short_log(emptied, 0, ()) is None


def test_a_partition_without_a_folder_lacks_everything_that_was_replicated() -> None:
    found = absent_log(KEY, "/disk/orders-0", (5, 20), [(0, 8)])
    assert found is not None
    assert (found.ranges, found.claim.offset) == (((8, 20),), 20)
    assert found.reason.endswith("there is no folder /disk/orders-0")
    assert absent_log(KEY, "/disk/orders-0", (5, 20), [(0, 20)]) is None


def test_a_lower_claim_leaves_less_of_it_and_one_below_the_log_end_nothing() -> None:
    found = short_log(_replica(high_watermark=170), 100, ())
    assert found is not None
    lower = found.below(120)
    assert lower is not None
    assert lower.ranges == ((100, 120),)
    assert found.below(100) is None
