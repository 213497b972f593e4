"""When quarantined bytes count as resolved."""

from pathlib import Path

from support.accounts import StandingGap, imbalances_of, standing_gaps
from support.audits import audited, kinds
from support.damaged_replicas import batches_in, resolutions_in
from support.encoder import EncodedBatch, Partition, Segment
from support.lakes import ingested
from support.made_logs import TOPIC_IDS, made_batches, make_log_dir, write_over

_ORDERS = ("orders", 0)


def test_damage_stands_for_a_gap_until_all_of_it_is_filled(tmp_path: Path) -> None:
    edges = {_ORDERS: [0, 20, 40, 60]}
    one = make_log_dir(tmp_path / "one", edges, broker_id=1)
    two = make_log_dir(tmp_path / "two", edges, broker_id=2)
    (one / "orders-0" / f"{20:020}.log").unlink()
    batches_in(one / "orders-0")[4].damage()
    batches_in(two / "orders-0")[4].damage()
    lake = tmp_path / "lake"
    ingested(one, lake)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 20, 45, "quarantined")]
    ingested(two, lake)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 20, 25, "quarantined")]
    assert resolutions_in(lake) == ["None"]
    assert imbalances_of(lake) == []


def test_log_that_was_damaged_all_over_is_resolved_when_all_of_it_came(tmp_path: Path) -> None:
    one, two = (
        make_log_dir(tmp_path / name, {_ORDERS: [0, 15]}, broker_id=int(name)) for name in "12"
    )
    for batch in batches_in(one / "orders-0"):
        batch.damage()
    lake = tmp_path / "lake"
    ingested(one, lake)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 0, 15, "quarantined")]
    ingested(two, lake)
    assert resolutions_in(lake) == ["None"] * 3 + ["sibling"] * 3
    assert imbalances_of(lake) == []


def test_damage_in_front_of_which_nothing_sound_was_read_stands_for_the_hole_there_too(
    tmp_path: Path,
) -> None:
    def disk(name: str, batches: list[EncodedBatch], broker_id: int) -> Path:
        partition = Partition("orders", 0, [Segment(0, batches)], topic_id=TOPIC_IDS["orders"])
        return write_over(tmp_path / name, [partition], broker_id=broker_id)

    whole, lake = made_batches("orders", 0, range(40)), tmp_path / "lake"
    holed = disk("holed", [*whole[:4], *whole[6:]], 1)
    ingested(disk("begun", whole[:4], 1), lake, read={"upper_bound": "log_end"})
    batches_in(holed / "orders-0")[4].damage()
    for copy in (holed, disk("half", [*whole[:4], *whole[6:]], 2)):
        ingested(copy, lake, read={"upper_bound": "log_end"})
    assert standing_gaps(lake) == [StandingGap("orders", 0, 20, 30, "quarantined")]
    assert resolutions_in(lake) == ["None"]
    assert kinds(audited(lake)) == set()
    ingested(disk("whole", whole, 3), lake, read={"upper_bound": "log_end"})
    assert standing_gaps(lake) == []
    assert resolutions_in(lake) == ["None", "sibling"]
