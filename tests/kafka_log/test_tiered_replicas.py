"""Joined to a broker's replica, a tier's offsets keep the name of what states them."""

import pytest

from seglake.kafka_log.replica import Checkpoints, RemoteObject, SegmentFile
from seglake.kafka_log.short_logs import end_claim
from seglake.kafka_log.tiered_replicas import TierReplica, joined
from support.planned import KEY, epoch_starts, replica

_STATED_BY = {True: "__remote_log_metadata", False: "the objects of the tier"}


def _tier(*, is_confirmed: bool, last_epoch: int = 0) -> TierReplica:
    """A tier with two segments, whose log ends at 900."""
    files = [
        SegmentFile(base, f"/t/{base}.log", f"{base}.log", 1, None, remote=RemoteObject(f"{base}"))
        for base in (0, 200)
    ]
    return TierReplica(
        key=KEY,
        folder="/t",
        segments=tuple(files),
        next_offset=900,
        epochs=epoch_starts((0, 0), (last_epoch, 900)),
        gaps=(),
        is_confirmed=is_confirmed,
        claimed_end=900 if is_confirmed else None,
    )


@pytest.mark.parametrize("is_confirmed", [True, False])
@pytest.mark.parametrize("last_epoch", [1, 7])
def test_no_checkpoint_file_is_named_for_an_end_that_the_tier_states(
    last_epoch: int, is_confirmed: bool
) -> None:
    old = replica()._replace(checkpoints=Checkpoints(log_start_offset=0), epochs=())
    tier = _tier(is_confirmed=is_confirmed, last_epoch=last_epoch)
    _, alone = joined(tier, [old])
    assert end_claim(alone) == (900, _STATED_BY[is_confirmed])
    # Without a replica, only events state an end above the objects.
    (alone,) = joined(tier, [])
    assert end_claim(alone).stated_by == (_STATED_BY[True] if is_confirmed else "200.log")


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_a_mark_that_the_tier_raises_is_not_the_checkpoint_file_s(is_confirmed: bool) -> None:
    (first,) = replica().segments[:1]
    local = replica()._replace(
        checkpoints=Checkpoints(has_high_watermarks=True, high_watermark=5),
        segments=(first._replace(base_offset=900),),
        epochs=epoch_starts((0, 0)),
    )
    (found,) = joined(_tier(is_confirmed=is_confirmed), [local])
    assert found.checkpoints.high_watermark == 900
    assert end_claim(found) == (900, _STATED_BY[is_confirmed])
    higher = local._replace(checkpoints=local.checkpoints._replace(high_watermark=950))
    (found,) = joined(_tier(is_confirmed=is_confirmed), [higher])
    assert end_claim(found) == (950, "replication-offset-checkpoint")
