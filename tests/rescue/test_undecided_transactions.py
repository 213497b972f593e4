"""Transactions that no disk of a dead cluster ends: left out with a cause, and to be had later."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

from seglake.pipelines.lake_audit.text_report import to_text
from seglake.task_engine.engine import Engine
from support.accounts import imbalances_of
from support.audits import audited, checked
from support.broker_disks import log_dir, partitions
from support.found import unknown_outcomes
from support.lakes import ingested, read_table
from support.oracle import Isolation, expected_records
from support.reports import reported
from support.transaction_logs import TransactionLog, abort, commit, damage_batch, sent, write_log
from support.views import viewed

_SCENARIO = "06_transactions"
_DEAD = {"upper_bound": "log_end"}
# Two transactions lie in each other, others behind them have ended, and neither does.
_STEPS = (
    *(sent(), sent(1), sent(2), sent(1), sent(3), commit(3), sent(2), abort(4)),
    *(sent(5), abort(5), sent()),
)
_LOG = TransactionLog.of(_STEPS)


def rescued(
    data: Path | Sequence[Path], lake: Path, engine: Engine | None = None, **read: str
) -> int:
    """Ingest a dead disk in read_committed; the exit code."""
    summary = ingested(
        data, lake, isolation="read_committed", engine=engine, read={**_DEAD, **read}
    )
    return summary.exit_code


def offsets_in(lake: Path, table: str = "records", **wanted: object) -> list[int]:
    rows = read_table(lake, table)
    return sorted(row["offset"] for row in rows if wanted.items() <= row.items())


def undecided(lake: Path, number: int = 0) -> list[int]:
    """The offsets of a partition that stand as gaps of transactions without an end."""
    gaps = viewed(lake, f"SELECT * FROM current_gaps WHERE partition = {number}")
    assert {gap["cause"] for gap in gaps} <= {"undecided"}
    return sorted(n for gap in gaps for n in range(gap["start_offset"], gap["next_offset"]))


def of_states(log: TransactionLog, *states: str) -> list[int]:
    return [offset for offset, of in log.states(log.next_offset).items() if of in states]


def assert_sound(lake: Path, data: Path | Sequence[Path]) -> None:
    assert imbalances_of(lake) == []
    assert audited(lake).exit_code == 0
    assert not any(check.has_problem for check in checked(data, lake))


def test_a_dead_brokers_committed_records_are_rescued_behind_a_transaction_that_never_ends(
    lake: Path, engine: Engine
) -> None:
    disk = log_dir(_SCENARIO, "live")
    assert rescued(disk, lake, engine) == 3
    records = read_table(lake, "records")
    for facts in partitions(_SCENARIO, "live"):
        if facts.topic.startswith("__"):
            continue
        found = {
            row["offset"]
            for row in records
            if (row["topic"], row["partition"]) == (facts.topic, facts.partition)
        }
        below = expected_records(
            _SCENARIO, "live", facts.topic, facts.partition, Isolation.READ_COMMITTED
        )
        every = expected_records(
            _SCENARIO, "live", facts.topic, facts.partition, Isolation.READ_UNCOMMITTED
        )
        assert {record.offset for record in below} <= found <= {each.offset for each in every}
    gaps = read_table(lake, "gaps")
    assert sorted((gap["topic"], gap["start_offset"], gap["next_offset"]) for gap in gaps) == [
        ("tx-a", 102, 108),
        ("tx-b", 126, 130),
    ]
    assert_sound(lake, disk)
    assert rescued(disk, lake, engine) == 0
    assert len(read_table(lake, "records")) == len(records)


def test_the_same_lake_gets_undecided_records_by_an_option_and_each_once(
    data: Path, lake: Path, engine: Engine
) -> None:
    write_log(data, _LOG, (0, 6))
    assert rescued(data, lake, engine) == 3
    assert offsets_in(lake) == of_states(_LOG, "none", "committed")
    assert undecided(lake) == of_states(_LOG, "open")
    for _ in range(2):
        assert rescued(data, lake, engine, undecided_transactions="rows") == 0
        assert undecided(lake) == []
        assert offsets_in(lake, transaction_state="open") == of_states(_LOG, "open")
        assert_sound(lake, data)


def test_ingest_audit_and_report_say_how_many_records_are_of_transactions_without_an_end(
    data: Path, lake: Path, engine: Engine
) -> None:
    write_log(data, _LOG, (0, 6))
    rows = {**_DEAD, "undecided_transactions": "rows"}
    of_run = ingested(data, lake, isolation="read_committed", engine=engine, read=rows)
    audit = audited(lake, engine=engine)
    of_report = reported(lake).recovery
    first: dict[int, list[int]] = {}
    for offset in of_states(_LOG, "open"):
        (producer_id,) = {
            row["producer_id"]
            for row in read_table(lake, "batches")
            if row["base_offset"] <= offset <= row["last_offset"]
        }
        first.setdefault(producer_id, []).append(offset)
    assert len(first) == 2
    count = len(of_states(_LOG, "open"))
    for recovery in (of_run.recovery, audit.recovery, of_report):
        assert recovery.to_mapping()["open_records"] == count
        assert f", {count} of them in transactions that have not ended; " in recovery.headline
    named = audit.to_mapping()["partitions"][0]["open_transactions"]
    assert named == [
        {"producer_id": producer_id, "first_offset": offsets[0], "records": len(offsets)}
        for producer_id, offsets in first.items()
    ]
    for producer_id, offsets in first.items():
        name = f"producer {producer_id}'s transaction from offset {offsets[0]} on"
        assert f"{name} has not ended: {len(offsets)} records marked open" in to_text(audit)


def test_records_are_of_no_open_transaction_once_a_later_run_read_its_end(
    data: Path, lake: Path
) -> None:
    write_log(data, _LOG, (0,))
    assert rescued(data, lake, undecided_transactions="rows") == 0
    write_log(data, TransactionLog.of((*_STEPS, commit(1), abort(2), sent(1))), (0,))
    rescued(data, lake, undecided_transactions="rows")
    assert len(offsets_in(lake, transaction_state="open")) == len(of_states(_LOG, "open")) + 3
    audit = audited(lake)
    assert audit.recovery.open_records == reported(lake).recovery.open_records
    (left,) = audit.partitions[0].open_transactions
    assert (left.producer_id, left.records) == (1, 3)


def test_rows_of_the_same_disk_are_not_said_to_come_from_older_copies(
    data: Path, lake: Path
) -> None:
    write_log(data, _LOG, (0, 6))
    read = {**_DEAD, "older_copies": True}
    ingested(data, lake, isolation="read_committed", read=read)
    read |= {"undecided_transactions": "rows"}
    summary = ingested(data, lake, isolation="read_committed", read=read)
    count = len(of_states(_LOG, "open"))
    assert (summary.counts.open_rows, summary.refilled) == (count, {})
    assert f"rows of transactions that have not ended: {count} in orders-0" in summary.to_text()
    assert "older copies" not in summary.to_text()
    assert "compacted in the first copy, or undecided at first" in to_text(audited(lake))


def test_a_damaged_abort_that_txnindex_names_is_in_doubt_for_no_other_producer(
    data: Path, lake: Path
) -> None:
    log = TransactionLog.of([sent(), sent(1), sent(2), abort(2), sent()])
    write_log(data, log, (0,), has_end_snapshot=False)
    damage_batch(data, log, (0,), 3)
    summary = ingested(data, lake, isolation="read_committed", read=_DEAD)
    assert unknown_outcomes(summary) == []
    assert any("the abort of producer 2" in note for note in summary.notes)
    undecided_gaps = [gap for gap in read_table(lake, "gaps") if gap["cause"] == "undecided"]
    assert [(gap["start_offset"], gap["next_offset"]) for gap in undecided_gaps] == [(3, 6)]


def test_one_run_with_the_option_leaves_no_gap(data: Path, lake: Path) -> None:
    write_log(data, _LOG, (0,))
    assert rescued(data, lake, undecided_transactions="rows") == 0
    assert read_table(lake, "gaps") == []
    assert offsets_in(lake, transaction_state="open") == of_states(_LOG, "open")
    assert_sound(lake, data)


def test_a_second_run_over_the_same_disk_fills_nothing(data: Path, lake: Path) -> None:
    write_log(data, _LOG, (0,))
    assert rescued(data, lake) == 3
    rows = len(read_table(lake, "gaps"))
    again = ingested(data, lake, isolation="read_committed", read=_DEAD)
    assert (again.exit_code, again.counts.repaired_gaps, again.notes) == (0, 0, [])
    assert len(read_table(lake, "gaps")) == rows
    assert "--set read.undecided_transactions=rows" in again.to_text()


def test_a_later_disk_that_has_the_ends_decides(tmp_path: Path, lake: Path) -> None:
    """Each disk has a partition: with the files beside its segments or without, one or three."""
    longer = TransactionLog.of([*_STEPS, sent(2), commit(1), sent(), abort(2), sent()])
    kinds = [*product([(0,), (0, 9, 16)], [True, False])]
    disks = [tmp_path / str(number) for number in range(len(kinds))]

    def write(stop: int | None) -> None:
        for number, (edges, has_files) in enumerate(kinds):
            write_log(disks[number], longer, edges, stop=stop, has_files=has_files, number=number)

    write(_LOG.next_offset)
    assert rescued(disks, lake) == 3
    write(_LOG.next_offset + 4)
    assert rescued(disks, lake) == 3  # for more data of transaction 2
    still = TransactionLog(tuple(p for p in longer.placed if p.offset < _LOG.next_offset + 4))
    for number in range(len(kinds)):
        assert undecided(lake, number) == of_states(still, "open")
    assert_sound(lake, disks)
    write(None)
    assert rescued(disks, lake) == 0
    for number in range(len(kinds)):
        assert undecided(lake, number) == []
        assert offsets_in(lake, partition=number) == of_states(longer, "none", "committed")
    assert_sound(lake, disks)


def test_an_end_that_comes_after_the_rows_settles_them(data: Path, lake: Path) -> None:
    longer = TransactionLog.of([*_STEPS, commit(1), abort(2)])
    write_log(data, longer, (0,), stop=_LOG.next_offset)
    rescued(data, lake, undecided_transactions="rows")
    write_log(data, longer, (0,))
    assert rescued(data, lake, undecided_transactions="rows") == 0
    settled = viewed(lake, "SELECT * FROM settled_records")
    assert {row["offset"]: row["transaction_state"] for row in settled} == {
        offset: state
        for offset, state in longer.states(longer.next_offset).items()
        if offset not in of_states(_LOG, "aborted")
    }


def test_a_lake_that_waited_for_a_transaction_is_continued_by_a_rescue_and_the_reverse(
    data: Path, lake: Path, tmp_path: Path
) -> None:
    write_log(data, _LOG, (0, 9))
    ingested(data, lake, isolation="read_committed")
    assert max(offsets_in(lake)) < of_states(_LOG, "open")[0]
    assert undecided(lake) == []
    assert rescued(data, lake) == 3
    other = tmp_path / "other"
    rescued(data, other)
    again = ingested(data, other, isolation="read_committed")
    assert again.exit_code == 0
    for each in (lake, other):
        assert offsets_in(each) == of_states(_LOG, "none", "committed")
        assert undecided(each) == of_states(_LOG, "open")
        assert_sound(each, data)
