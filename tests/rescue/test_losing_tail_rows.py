"""Rows of what only losing replicas have, asked for by an option: each once, apart from the log."""

from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.task_engine.engine import Engine
from support.audits import audited, falsified
from support.elected_logs import ElectedLog, Written
from support.lakes import ingested, maintained, read_table, replayed
from support.losing_logs import (
    COMMON,
    DEAD,
    LONGER,
    LOSER,
    WINNER,
    assert_sound,
    batches_of,
    disks_of,
    places,
    salvaged,
)

_LOST_RECORDS = [each for each in LOSER.consumed() if each[0] >= 20]


def test_an_option_gives_rows_of_losing_tails_apart_from_those_of_the_log(
    tmp_path: Path, lake: Path, engine: Engine
) -> None:
    disks = disks_of(tmp_path, WINNER, LOSER, LOSER)
    rows = {**DEAD, "losing_tails": "rows"}
    for _ in range(2):
        assert ingested(disks, lake, engine=engine, read=rows).exit_code == 0
        assert salvaged(lake) == _LOST_RECORDS
        assert salvaged(lake, "current_salvaged_records") == _LOST_RECORDS[10:]
        assert_sound(lake, disks)
    found = sorted((row["offset"], row["value"]) for row in read_table(lake, "records"))
    assert found == WINNER.consumed()


def test_the_option_works_later_without_the_disks(tmp_path: Path, lake: Path) -> None:
    disks = disks_of(tmp_path, WINNER, LOSER)
    ingested(disks, lake, read=DEAD)
    assert salvaged(lake) == []
    said = (f"{len(_LOST_RECORDS)} records salvaged, no gap filled (", "nothing ")
    for begin in said:
        text = replayed(lake, read={"losing_tails": "rows"}).to_text()
        assert text.startswith(begin)
        assert salvaged(lake) == _LOST_RECORDS
    assert_sound(lake, disks)


def test_rows_of_a_tail_leave_the_view_where_the_winner_goes_on(tmp_path: Path, lake: Path) -> None:
    rows = {**DEAD, "losing_tails": "rows"}
    ingested(disks_of(tmp_path, WINNER, LOSER), lake, read=rows)
    ingested(disks_of(tmp_path, LONGER, LOSER), lake, read=rows)
    assert salvaged(lake, "current_salvaged_records") == _LOST_RECORDS[20:]
    assert salvaged(lake) == _LOST_RECORDS


def test_markers_and_what_won_give_no_rows(tmp_path: Path, lake: Path) -> None:
    tail = [Written(1, 3, producer_id=7), Written(1, 1, producer_id=7, end="commit")]
    loser = ElectedLog.of(*COMMON, *tail)
    winner, other = disks_of(tmp_path, WINNER, loser)
    ingested(other, lake, read=DEAD)
    rows = {**DEAD, "losing_tails": "rows"}
    summary = ingested([winner, other], lake, read=rows)
    assert summary.findings.of(FindingKind.SUPERSEDED)
    assert "not salvaged" not in summary.to_text()
    values = {value for _, value in WINNER.consumed()[20:]}
    assert not values & {value for _, value in salvaged(lake)}
    assert audited(lake).exit_code == 3  # until a retake


def by_broker(lake: Path, *, is_reversed: bool) -> None:
    """Put the rows of quarantine in the order of their brokers, or in the reverse."""
    falsified(
        lake,
        "quarantine",
        lambda rows: sorted(rows, key=lambda row: int(row["broker_id"]), reverse=is_reversed),
        operation="OPTIMIZE",
    )


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_batch_of_several_losers_gives_its_rows_once_in_any_order_of_quarantine(
    is_reversed: bool, tmp_path: Path, lake: Path
) -> None:
    disks = disks_of(tmp_path, LONGER, LOSER, LOSER)
    ingested(disks, lake)
    assert places(lake) == sorted(2 * batches_of(LOSER, 20)[:4])
    for order in (is_reversed, not is_reversed):
        by_broker(lake, is_reversed=order)
        replayed(lake, read={"losing_tails": "rows"})
        assert salvaged(lake) == _LOST_RECORDS[:20]
    assert audited(lake).exit_code == 0


def test_maintenance_between_two_runs_brings_no_row_again(tmp_path: Path, lake: Path) -> None:
    disks = disks_of(tmp_path, LONGER, LOSER, LOSER)
    rows = {**DEAD, "losing_tails": "rows"}
    ingested(disks, lake)
    for _ in range(2):
        ingested(disks, lake, read=rows)
        assert salvaged(lake) == _LOST_RECORDS
        maintained(lake)
    assert_sound(lake, disks)


def test_rows_of_another_losers_copy_of_a_batch_are_not_added(tmp_path: Path, lake: Path) -> None:
    """What the table has may be of any of the replicas, whichever row of quarantine is first."""
    rows = {"losing_tails": "rows"}
    ingested(disks_of(tmp_path, LONGER, LOSER, LOSER), lake)
    replayed(lake, read=rows)
    found = read_table(lake, "salvaged_records")
    (broker_id,) = {row["broker_id"] for row in found}
    falsified(
        lake, "salvaged_records", lambda rows: [{**row, "broker_id": 3 - broker_id} for row in rows]
    )
    replayed(lake, read=rows)
    assert len(read_table(lake, "salvaged_records")) == len(found) == 20
    assert audited(lake).exit_code == 0


def test_an_audit_fails_on_rows_that_two_losers_gave(tmp_path: Path, lake: Path) -> None:
    ingested(disks_of(tmp_path, LONGER, LOSER, LOSER), lake)
    replayed(lake, read={"losing_tails": "rows"})
    assert audited(lake).problem_count == 0
    falsified(
        lake,
        "salvaged_records",
        lambda rows: [*rows, {**rows[0], "broker_id": 3 - int(rows[0]["broker_id"])}],
    )
    audit = audited(lake)
    assert any("salvaged more than once: orders-0" in text for text in audit.problems), (
        audit.problems
    )
    assert audit.exit_code == 3


def test_a_batch_that_was_cut_at_first_gives_rows_when_it_is_whole(
    tmp_path: Path, lake: Path
) -> None:
    disks = disks_of(tmp_path, WINNER, LOSER)
    rows = {**DEAD, "losing_tails": "rows"}
    summary = ingested(disks, lake, read=rows, quarantine={"max_raw_bytes": 10})
    assert (salvaged(lake), summary.salvaged.cut_batches) == ([], 5)
    for _ in range(2):
        summary = ingested(disks, lake, read=rows)
        assert (salvaged(lake), summary.salvaged.cut_batches) == (_LOST_RECORDS, 0)
