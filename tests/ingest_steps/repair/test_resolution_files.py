"""Damage with holes that several commits of one repair fill."""

from pathlib import Path

from support.accounts import imbalances_of, standing_gaps
from support.damaged_replicas import batches_in, resolutions_in
from support.lakes import ingested, ingested_in_pieces
from support.made_logs import make_log_dir

_ORDERS = ("orders", 0)


def test_damage_with_holes_in_two_waves_is_resolved_by_the_last_of_them(tmp_path: Path) -> None:
    edges = {_ORDERS: [0, 20, 40, 60]}
    disks = [make_log_dir(tmp_path / name, edges, broker_id=int(name)) for name in "123"]
    for disk, hit in zip(disks, ((2, 3, 4), (2, 4), ()), strict=True):
        for index in hit:
            batches_in(disk / "orders-0")[index].damage()
    lake = tmp_path / "lake"
    ingested(disks[0], lake)
    ingested(disks[1], lake)
    assert [(gap.start_offset, gap.next_offset) for gap in standing_gaps(lake)] == [
        (10, 15),
        (20, 25),
    ]
    ingested_in_pieces(disks[2], lake, "read_uncommitted", split_bytes=1, wave_bytes=1)
    assert standing_gaps(lake) == []
    assert resolutions_in(lake) == ["None"] * 3 + ["sibling"] * 3
    assert imbalances_of(lake) == []
