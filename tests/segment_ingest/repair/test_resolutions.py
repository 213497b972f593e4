"""When quarantined bytes count as resolved."""

from pathlib import Path

from support.accounts import StandingGap, imbalances_of, standing_gaps
from support.damaged_replicas import batches_in, resolutions_in
from support.lakes import ingested
from support.made_logs import make_log_dir

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
