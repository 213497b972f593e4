"""What two looks at the disks of a running broker agree on."""

from seglake.ingest_steps.planning.second_listing import changed_replicas, confirmed
from seglake.kafka_log.replica import Replica
from seglake.kafka_log.short_logs import ShortLog, short_log
from support.planned import replica


def _short(copy: Replica) -> ShortLog:
    found = short_log(copy, 100, ())
    assert found is not None
    return found


_FIRST = replica(high_watermark=170)
_SHORT = _short(_FIRST)


def test_what_both_looks_say_is_so() -> None:
    assert confirmed([_SHORT], [_FIRST], {}) == [_SHORT]


def test_what_was_said_after_the_second_listing_is_no_proof() -> None:
    later = replica((0, 100), high_watermark=120)
    assert [short.ranges for short in confirmed([_SHORT], [later], {})] == [((100, 120),)]
    assert confirmed([_SHORT], [replica(high_watermark=100)], {}) == []


def test_a_log_that_has_gone_is_its_broker_s_business() -> None:
    assert confirmed([_SHORT], [], {}) == []


def test_of_a_log_that_has_changed_the_second_look_counts_as_far_as_the_first_claimed() -> None:
    grown = replica((0, 100, 160), high_watermark=200)
    assert changed_replicas({"orders-0": _SHORT}, [_FIRST], [grown]) == [grown]
    again = short_log(grown, 160, ())
    assert [s.ranges for s in confirmed([_SHORT], [grown], {_SHORT.key: again})] == [((160, 170),)]
    assert confirmed([_SHORT], [grown], {_SHORT.key: None}) == []


def test_all_copies_of_a_partition_are_looked_at_again_or_none() -> None:
    other = replica(broker_id=1, high_watermark=170)
    names = {"orders-0": _SHORT}
    assert changed_replicas(names, [_FIRST, other], [_FIRST, other]) == []
    grown = replica((0, 200), broker_id=1, high_watermark=170)
    assert changed_replicas(names, [_FIRST, other], [_FIRST, grown]) == [_FIRST, grown]
    assert changed_replicas({}, [_FIRST, other], [_FIRST, grown]) == []
