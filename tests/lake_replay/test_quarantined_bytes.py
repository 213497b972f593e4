"""Quarantined bytes as sources of a replay."""

from pathlib import Path

from support.damaged_replicas import (
    LARGE_LIMIT,
    SMALL_LIMIT,
    batches_in,
    lake_without_a_large_batch,
)
from support.elected_logs import ElectedLog, Written, current, plain, write_elected
from support.encoder import Codec
from support.lakes import ingested, replayed, retaken


def test_no_file_is_left_of_the_bytes_that_were_decoded_again(tmp_path: Path) -> None:
    lake = lake_without_a_large_batch(tmp_path)
    replayed(lake, limits={"max_decompressed_batch_bytes": LARGE_LIMIT})
    assert list((lake / "records" / "_seglake" / "replay").iterdir()) == []


def test_bytes_between_sound_batches_that_an_election_parted_fill_nothing_behind_it(
    tmp_path: Path,
) -> None:
    """Damage begins below the election, but what is left of it lost."""
    lake, disk = tmp_path / "lake", tmp_path / "disk"
    size, small = SMALL_LIMIT // 4, {"max_decompressed_batch_bytes": SMALL_LIMIT}
    loser = ElectedLog.of(
        *plain(1, 5), Written(1, 5, codec=Codec.GZIP), *plain(1, 2), value_bytes=size
    )
    winner = ElectedLog.of(*plain(1, 5), *plain(3, 5), value_bytes=size)
    write_elected(disk, loser)
    batches_in(disk / "orders-0")[4].damage()
    ingested(disk, lake, limits=small)
    replayed(lake, write_elected(tmp_path / "twin", loser, broker_id=2), limits=small)
    write_elected(disk, winner, broker_id=1)
    batches_in(disk / "orders-0")[5].damage()
    ingested(disk, lake)
    retaken(lake, disk)
    replayed(lake, limits={"max_decompressed_batch_bytes": LARGE_LIMIT})
    assert current(lake) == [at for at in winner.consumed() if not 25 <= at[0] < 30]
