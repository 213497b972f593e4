"""Retakes of logs with damage: in what was lost, in what won, and what repairs brought."""

from pathlib import Path

from support.accounts import imbalances_of
from support.audits import audited, kinds
from support.elected_logs import ElectedLog, current, stored, write_elected
from support.lakes import ingested, replayed, retaken
from support.retaken_lakes import LOSER, TO_LOG_END, WINNER, Lost, is_right


def _damaged(disk: Path, log: ElectedLog, offset: int) -> None:
    """Change a byte of the batch at an offset, on the disk."""
    path = disk / "orders-0" / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    batches = dict(zip((first for first, _ in log.placed()), log.encoded(), strict=True))
    content[content.index(batches[offset].data) + len(batches[offset].data) - 1] ^= 0xFF
    path.write_bytes(content)


def test_a_gap_of_what_was_lost_is_gone_and_nobody_repairs_it(lake: Path, disk: Path) -> None:
    write_elected(disk, LOSER)
    _damaged(disk, LOSER, 25)
    ingested(disk, lake, read=TO_LOG_END)
    retaken_from = write_elected(disk, WINNER, broker_id=1)
    ingested(retaken_from, lake)
    sound = write_elected(disk.with_name("sound"), LOSER)
    before = stored(lake)
    replayed(lake, sound)  # has the lost batch, of an epoch that is no longer the log's
    assert stored(lake) == before
    assert retaken(lake, disk).exit_code == 0
    assert is_right(lake, disk, WINNER)
    replayed(lake, sound)
    assert is_right(lake, disk, WINNER)


def test_what_a_repair_brought_is_lost_like_the_rows_around_it(lake: Path, disk: Path) -> None:
    write_elected(disk, LOSER)
    _damaged(disk, LOSER, 25)
    ingested([disk, write_elected(disk.with_name("sound"), LOSER)], lake, read=TO_LOG_END)
    assert current(lake) == LOSER.consumed()
    ingested(write_elected(disk, WINNER, broker_id=1), lake)
    assert (kinds(audited(lake)), imbalances_of(lake)) == ({"superseded"}, [])
    retaken(lake, disk)
    assert is_right(lake, disk, WINNER)


def test_a_gap_in_which_the_logs_part_is_taken_anew_whole(lake: Path, disk: Path) -> None:
    write_elected(disk, LOSER)
    for offset in (15, 20):
        _damaged(disk, LOSER, offset)
    ingested(disk, lake, read=TO_LOG_END)
    ingested(write_elected(disk, WINNER, broker_id=1), lake)
    assert retaken(lake, disk).retaken == [("orders-0", (15, WINNER.end))]
    assert is_right(lake, disk, WINNER)


def test_a_gap_of_what_was_retaken_is_repaired_like_any_other(
    lake: Path, disk: Path, lost: Lost
) -> None:
    lost(WINNER)
    _damaged(disk, WINNER, 20)
    assert retaken(lake, disk).records == 7
    assert current(lake) == [each for each in WINNER.consumed() if not 20 <= each[0] < 27]
    assert (audited(lake).exit_code, imbalances_of(lake)) == (0, [])
    sound = write_elected(disk.with_name("sound"), WINNER, broker_id=2)
    ingested(sound, lake)
    assert is_right(lake, sound, WINNER)


def test_the_sources_of_a_retake_repair_what_one_of_them_has_damaged(
    lake: Path, disk: Path, lost: Lost
) -> None:
    lost(WINNER)
    _damaged(disk, WINNER, 20)
    sound = write_elected(disk.with_name("sound"), WINNER, broker_id=2)
    assert retaken(lake, disk, sound).exit_code == 3  # one of the disks is damaged
    assert is_right(lake, sound, WINNER)
