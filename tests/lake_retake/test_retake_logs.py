"""Retakes of made logs: what a consumer of the log that won gets is what counts in the lake."""

import shutil
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_audit.text_report import to_text
from seglake.pipelines.lake_retake.retake_plan import Selection
from support.accounts import imbalances_of
from support.audits import audited, kinds
from support.cases import cases
from support.dying import Died, dying
from support.elected_logs import (
    ElectedLog,
    Written,
    current,
    plain,
    stored,
    write_elected,
)
from support.lakes import ingested, retaken
from support.retaken_lakes import BEFORE, GROWN, LOSER, TO_LOG_END, WINNER, Lost, is_right

_WHOLE = Selection(is_whole=True)
_STEPS = ("redo", "records", "checkpoints")


def test_an_ingest_goes_on_where_the_retaken_log_ends(lake: Path, disk: Path, lost: Lost) -> None:
    retaken(lake, lost(WINNER))
    assert is_right(lake, disk, WINNER)
    write_elected(disk, GROWN, broker_id=1)
    summary = ingested(disk, lake)
    assert (summary.exit_code, summary.counts.records) == (0, GROWN.end - WINNER.end)
    assert is_right(lake, disk, GROWN)
    assert stored(lake) == LOSER.end + GROWN.end - 20


def test_a_batch_that_crosses_the_end_of_what_was_lost_is_taken_in_two_pieces(
    lake: Path, disk: Path, lost: Lost
) -> None:
    """The run that finds the election ingests what lies above the lost rows."""
    lost(GROWN)
    assert current(lake) == [each for each in GROWN.consumed() if not 20 <= each[0] < 40]
    summary = retaken(lake, disk)
    assert (summary.records, summary.released) == (20, [])
    assert is_right(lake, disk, GROWN)
    assert ingested(disk, lake).counts.records == 0


def test_what_the_log_may_not_be_read_of_yet_is_left_to_the_next_ingest(
    lake: Path, disk: Path, lost: Lost
) -> None:
    lost(WINNER, high_watermark=20)
    for dry_run in (True, False):
        summary = retaken(lake, disk, dry_run=dry_run)
        assert (summary.exit_code, summary.retaken) == (0, [])
        assert summary.released == [("orders-0", (20, 40))]
        assert summary.to_text().startswith(
            "dry run: 0 offsets of 0 partitions would be ingested again"
            if dry_run
            else "nothing ingested again in 1 partition ("
        )
    assert current(lake) == WINNER.consumed()[:20]
    assert (audited(lake).exit_code, imbalances_of(lake)) == (0, [])
    write_elected(disk, WINNER, broker_id=1)
    assert ingested(disk, lake).counts.records == WINNER.end - 20
    assert is_right(lake, disk, WINNER)


@pytest.mark.parametrize("step", cases(_STEPS, telling=["records"]))
def test_a_run_that_dies_while_it_only_releases_is_completed(
    lake: Path, disk: Path, lost: Lost, step: str
) -> None:
    lost(WINNER, high_watermark=20)

    with pytest.raises(Died):
        retaken(lake, disk, after=dying(step))
    assert retaken(lake, disk).exit_code == 0
    assert (audited(lake).exit_code, imbalances_of(lake)) == (0, [])
    ingested(write_elected(disk, WINNER, broker_id=1), lake)
    assert is_right(lake, disk, WINNER)


def test_a_leader_that_has_written_nothing_yet_has_won_all_the_same(lake: Path, disk: Path) -> None:
    """Only the checkpoint file of leader epochs tells."""
    ingested(write_elected(disk, LOSER), lake, read=TO_LOG_END)
    empty = ElectedLog.of(*BEFORE)
    write_elected(disk, empty, broker_id=1, epochs=[(1, 0), (3, 20)])
    for said in ("20 records lost an election", "lost an election, as an earlier run found"):
        summary = ingested(disk, lake)
        (superseded,) = summary.findings.of(FindingKind.SUPERSEDED)
        assert (summary.exit_code, said in superseded.text) == (3, True)
        assert any("whose end won an election" in note for note in summary.notes)
        assert current(lake) == empty.consumed()
        assert (audited(lake).exit_code, imbalances_of(lake)) == (3, [])
    assert retaken(lake, write_elected(disk.with_name("old"), LOSER)).exit_code == 3
    assert retaken(lake, disk).released == [("orders-0", (20, 40))]
    assert is_right(lake, disk, empty)
    shutil.rmtree(lake / "observations")  # as where the run died before it wrote what it saw
    assert audited(lake).partitions[0].left is None
    write_elected(disk, WINNER, broker_id=1)
    assert ingested(disk, lake).exit_code == 0
    assert is_right(lake, disk, WINNER)


@pytest.mark.parametrize("epochs", [[(1, 0), (3, 40)], [(1, 0), (3, 45)], [(0, 0)]])
def test_a_shorter_log_that_lost_nothing_has_won_nothing(
    lake: Path, disk: Path, epochs: list[tuple[int, int]]
) -> None:
    """What its files prove above the lake is a loss of its own."""
    ingested(write_elected(disk, LOSER), lake, read=TO_LOG_END)
    write_elected(disk, ElectedLog.of(*BEFORE), broker_id=1, epochs=epochs)
    assert ingested(disk, lake).findings.of(FindingKind.SUPERSEDED) == []
    found = audited(lake)
    is_proved = epochs[-1][1] > LOSER.end
    assert (kinds(found), found.exit_code) == (set(), 3 if is_proved else 0)
    assert any("not on disk: orders-0: [40, 45)" in said for said in found.problems) == is_proved


def test_offsets_below_rows_that_count_are_not_released(lake: Path, disk: Path, lost: Lost) -> None:
    lost(GROWN)
    write_elected(disk, GROWN, broker_id=1, high_watermark=27)
    summary = retaken(lake, disk)
    assert (summary.retaken, summary.released) == ([("orders-0", (20, 27))], [])
    assert "orders-0: [27, 40) waits: its log may not be read" in summary.to_text()
    assert (summary.exit_code, kinds(audited(lake))) == (3, {"superseded"})
    retaken(lake, write_elected(disk, GROWN, broker_id=1))
    assert is_right(lake, disk, GROWN)


def test_of_several_disks_the_one_that_won_is_retaken(lake: Path, disk: Path) -> None:
    old = write_elected(disk.with_name("old"), LOSER)
    ingested(old, lake, read=TO_LOG_END)
    write_elected(disk, WINNER, broker_id=1)
    assert ingested([old, disk], lake, read=TO_LOG_END).exit_code == 3
    assert retaken(lake, old, disk, read=TO_LOG_END).exit_code == 0
    ingested([old, disk], lake, read=TO_LOG_END)
    assert is_right(lake, disk, WINNER)


def test_a_log_of_which_nothing_is_left_is_taken_anew_from_its_first_offset(
    lake: Path, disk: Path, lost: Lost
) -> None:
    winner = ElectedLog.of(*plain(3, 3, 4))
    lost(winner)
    assert current(lake) == []
    assert "orders-0  covered  nothing" in to_text(audited(lake))
    assert retaken(lake, disk).exit_code == 0
    assert is_right(lake, disk, winner)


def test_rows_below_the_log_start_of_the_winner_are_kept(lake: Path, disk: Path) -> None:
    """Retention takes epochs along with offsets: where the logs parted is not known any more."""
    ingested(write_elected(disk, LOSER), lake, read=TO_LOG_END)
    write_elected(disk, GROWN, broker_id=1, log_start=27, epochs=[(3, 27)])
    assert ingested(disk, lake).exit_code == 3
    assert retaken(lake, disk).exit_code == 0
    found = current(lake)
    assert found[:25] == LOSER.consumed()[:25]
    assert found[25:] == [each for each in GROWN.consumed() if each[0] >= 27]
    assert (audited(lake).exit_code, imbalances_of(lake)) == (0, [])


def test_a_second_election_goes_against_what_was_retaken(
    lake: Path, disk: Path, lost: Lost
) -> None:
    retaken(lake, lost(GROWN))
    last = ElectedLog.of(*BEFORE, *plain(3, 1, 7), *plain(5, 3, 4))
    write_elected(disk, last, broker_id=2)
    assert ingested(disk, lake, read=TO_LOG_END).exit_code == 3
    assert current(lake) == last.consumed()[:27]
    before = stored(lake)
    summary = retaken(lake, disk)
    assert (summary.exit_code, summary.records) == (0, 12)
    assert is_right(lake, disk, last)
    assert stored(lake) == before + 12


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_transaction_that_was_open_where_the_logs_part_is_taken_anew_from_its_start(
    lake: Path, disk: Path, isolation: str
) -> None:
    """The loser committed it, the winner aborted it: its rows below the election are wrong too."""
    before = [
        *plain(1, 2),
        Written(1, 3, 7),
        *plain(1, 1),
        Written(1, 2, 8),
        Written(1, 1, 8, "commit"),
    ]
    loser = ElectedLog.of(*before, Written(1, 2, 7), Written(1, 1, 7, "commit"), *plain(1, 2))
    winner = ElectedLog.of(*before, *plain(3, 1), Written(3, 1, 7, "abort"), *plain(3, 1))
    ingested(write_elected(disk, loser), lake, isolation=isolation, read=TO_LOG_END)
    write_elected(disk, winner, broker_id=1)
    assert ingested(disk, lake, isolation=isolation).exit_code == 3
    is_committed = isolation == "read_committed"
    summary = retaken(lake, disk)
    assert summary.retaken[0] == ("orders-0", (10, winner.end))
    assert is_right(lake, disk, winner, committed_only=is_committed)


def test_a_retake_that_dies_between_its_commits_leaves_the_rest_to_the_next(
    lake: Path, disk: Path, lost: Lost
) -> None:
    loser = ElectedLog.of(*BEFORE, *plain(1, 8), value_bytes=5_000)
    winner = ElectedLog.of(*BEFORE, *plain(3, 8, 4), value_bytes=5_000)
    lost(winner, loser)
    least = 64 * 1024
    read, write = {"window_bytes": least, "split_bytes": least}, {"wave_bytes": least}

    with pytest.raises(Died):
        retaken(lake, disk, after=dying("cleaned"), read=read, write=write)
    (found,) = audited(lake).partitions
    ((start, stop),) = found.superseded.ranges
    assert 20 < start < winner.end < stop == loser.end
    assert current(lake) == winner.consumed()[:start]
    assert imbalances_of(lake) == []
    assert retaken(lake, disk, read=read, write=write).exit_code == 0
    assert is_right(lake, disk, winner)
    assert stored(lake) == loser.end + winner.end - 20


def test_a_whole_partition_is_taken_anew_but_for_what_its_log_has_no_longer(
    lake: Path, disk: Path
) -> None:
    ingested(write_elected(disk, GROWN), lake)
    write_elected(disk, GROWN, log_start=12)
    selected = {"topics": ["orders"]}
    assert retaken(lake, disk, selection=_WHOLE, dry_run=True, select=selected).planned == [
        ("orders-0", (15, GROWN.end))
    ]
    summary = retaken(lake, disk, selection=_WHOLE, select=selected)
    assert (summary.exit_code, summary.records) == (0, GROWN.end - 15)
    assert is_right(lake, disk, GROWN)
    assert stored(lake) == 2 * GROWN.end - 15


# --- beside others -----------------------------------------------------------------------------


@pytest.mark.parametrize("step", cases(_STEPS, telling=["redo", "records"]))
def test_an_ingest_in_the_middle_of_a_retake_harms_neither(
    lake: Path, disk: Path, lost: Lost, step: str
) -> None:
    lost(WINNER)
    others: list[int] = []

    def meanwhile(reached: str) -> None:
        if reached == step and not others:
            others.append(0)
            write_elected(disk, GROWN, broker_id=1)
            others.append(ingested(disk, lake).counts.records)

    retaken(lake, disk, after=meanwhile)
    ingested(disk, lake)
    retaken(lake, disk)
    assert is_right(lake, disk, GROWN)
    assert stored(lake) == LOSER.end + GROWN.end - 20


def test_a_whole_partition_stays_as_it_is_where_its_retake_died(lake: Path, disk: Path) -> None:
    log = ElectedLog.of(*plain(1, 12), value_bytes=5_000)
    ingested(write_elected(disk, log), lake)
    least = 64 * 1024
    read, write = {"window_bytes": least, "split_bytes": least}, {"wave_bytes": least}
    select = {"topics": ["orders"]}

    with pytest.raises(Died):
        retaken(
            lake,
            disk,
            selection=_WHOLE,
            after=dying("records"),
            read=read,
            write=write,
            select=select,
        )
    assert retaken(lake, disk).exit_code == 0  # it completes the commit
    assert is_right(lake, disk, log)
    assert log.end < stored(lake) < 2 * log.end
