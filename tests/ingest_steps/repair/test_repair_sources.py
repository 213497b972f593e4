"""Which replicas at hand may hold what the lake lacks, and up to which offset."""

import struct
from pathlib import Path

from support.accounts import StandingGap, standing_gaps
from support.damaged_replicas import batches_in
from support.elected_logs import ElectedLog, current, plain, write_elected
from support.lakes import ingested, replayed, retaken
from support.made_logs import make_log_dir

_ORDERS = ("orders", 0)


def test_copy_of_another_lineage_fills_nothing(tmp_path: Path) -> None:
    edges = {_ORDERS: [0, 20, 40]}
    one = make_log_dir(tmp_path / "one", edges, broker_id=1)
    two = make_log_dir(tmp_path / "two", edges, broker_id=2)
    _with_epochs(one, {0: 3})
    _with_epochs(two, {0: 3, 10: 5})
    batches_in(one / "orders-0")[4].damage()
    lake = tmp_path / "lake"
    ingested(one, lake)
    summary = replayed(lake, two)
    assert summary.repaired_gaps == 0
    assert any("gaps from offset 10 on are not filled" in note for note in summary.notes)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 20, 25, "quarantined")]


def test_a_copy_that_lost_an_election_fills_nothing_from_where_the_winner_began(
    tmp_path: Path,
) -> None:
    lake, disk = tmp_path / "lake", tmp_path / "disk"
    loser, winner = ElectedLog.of(*plain(1, 5)), ElectedLog.of(*plain(1, 4), *plain(3, 6))
    ingested(write_elected(disk, loser), lake)
    write_elected(disk, winner, broker_id=1)
    batches_in(disk / "orders-0")[4].damage()
    ingested(disk, lake)
    retaken(lake, disk)
    old = write_elected(tmp_path / "old", loser)
    summary = replayed(lake, old)
    assert any("gaps from offset 20 on are not filled" in note for note in summary.notes)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 20, 25, "quarantined")]
    replayed(lake, old, write_elected(tmp_path / "new", winner, broker_id=2))
    assert current(lake) == winner.consumed()


def test_a_copy_that_lost_an_election_fills_what_lies_below_it(tmp_path: Path) -> None:
    lake, disk = tmp_path / "lake", tmp_path / "disk"
    loser, winner = ElectedLog.of(*plain(1, 5)), ElectedLog.of(*plain(1, 4), *plain(3, 6))
    write_elected(disk, loser)
    batches_in(disk / "orders-0")[2].damage()
    ingested(disk, lake)
    write_elected(disk, winner, broker_id=1)
    batches_in(disk / "orders-0")[2].damage()
    ingested(disk, lake)
    retaken(lake, disk)
    replayed(lake, write_elected(tmp_path / "old", loser))
    assert current(lake) == winner.consumed()


def _with_epochs(log_dir: Path, starts: dict[int, int]) -> None:
    """Stamp leader epochs into batches, which no checksum covers, and into the checkpoint."""
    for batch in batches_in(log_dir / "orders-0"):
        epoch = [value for start, value in starts.items() if start <= batch.first_offset][-1]
        content = bytearray(batch.log.read_bytes())
        struct.pack_into(">i", content, batch.position + 12, epoch)
        batch.log.write_bytes(content)
    lines = ["0", str(len(starts)), *(f"{epoch} {start}" for start, epoch in starts.items())]
    text = "\n".join(lines) + "\n"
    (log_dir / "orders-0" / "leader-epoch-checkpoint").write_text(text, encoding="ascii")
