"""The lake against the disks, record by record: each difference is found or explained."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.log_dirs.errors import WrongSourceError
from seglake.pipelines.lake_audit.disk_check.disk_check import CopyCheck, check_disks, find_disks
from seglake.pipelines.lake_audit.disk_check.disk_check_report import exit_code, to_mapping, to_text
from seglake.pipelines.progress import RunReporter
from seglake.pipelines.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import LocalEngine
from support import broker_disks
from support.audits import checked, falsified
from support.encoder import Record, record_batch
from support.encoder.internal import config_value, topic_value
from support.internal_logs import INTERNAL, METADATA, batch, write_topic
from support.lakes import Row, ingested, read_table
from support.made_logs import FIRST_MS, TOPIC_IDS, made_batches, make_log_dir

_ORDERS = ("orders", 0)
_OFFSET = 17  # of the record that is changed


@pytest.fixture
def taken(data: Path, lake: Path) -> Path:
    """A log of 40 records that was taken whole; its log dir."""
    make_log_dir(data, {_ORDERS: [0, 20, 40]})
    ingested(data, lake)
    return data


def _changed(lake: Path, **values: Callable[[Row], object]) -> None:
    """Change some values of one record of the lake."""

    def change(rows: list[Row]) -> list[Row]:
        return [
            row | {name: value(row) for name, value in values.items()}
            if row["offset"] == _OFFSET
            else row
            for row in rows
        ]

    falsified(lake, "records", change)


def _one(checks: list[CopyCheck]) -> CopyCheck:
    (check,) = checks
    return check


def test_a_lake_equals_the_disk_that_it_was_made_from(taken: Path, lake: Path) -> None:
    check = _one(checked(taken, lake))
    assert (check.report.equal, check.only_in_lake, check.report.not_taken) == (40, 0, [])
    assert exit_code([check]) == 0
    assert to_text([check]).splitlines() == [
        "compared with 1 copy on disk: 40 records are equal: nothing differs",
        "orders-0  40 records are equal",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"value": lambda row: row["value"][:-1] + b"!"}, id="value_shorter"),
        pytest.param({"value": lambda row: None}, id="value_null"),
        pytest.param({"value": lambda row: b""}, id="value_empty"),
        pytest.param({"key": lambda row: row["key"] + b"!"}, id="key_longer"),
        pytest.param({"key": lambda row: None}, id="key_null"),
        pytest.param({"timestamp_ms": lambda row: row["timestamp_ms"] + 1}, id="time_later"),
        pytest.param({"timestamp_ms": lambda row: None}, id="time_null"),
        pytest.param({"timestampType": lambda row: 1}, id="time_type"),
        pytest.param({"headers": lambda row: None}, id="headers_null"),
        pytest.param({"headers": lambda row: []}, id="headers_none"),
        pytest.param(
            {"headers": lambda row: [*row["headers"], *row["headers"]]}, id="headers_twice"
        ),
        pytest.param(
            {"headers": lambda row: [{"key": "H", "value": row["headers"][0]["value"]}]},
            id="header_renamed",
        ),
        pytest.param({"headers": lambda row: [{"key": "h", "value": b""}]}, id="header_value"),
        pytest.param({"headers": lambda row: [{"key": "h", "value": None}]}, id="header_null"),
    ],
)
def test_a_record_with_another_payload_is_found_and_named(
    changes: dict[str, Callable[[Row], object]], taken: Path, lake: Path
) -> None:
    _changed(lake, **changes)
    check = _one(checked(taken, lake))
    assert check.report.equal == 39
    assert check.report.different == (1, (_OFFSET,))
    assert exit_code([check]) == 3
    assert "PROBLEM  1 records at offset 17 differ from the lake" in to_text([check])
    assert to_mapping([check])["copies"][0]["different"]["first_offsets"] == (_OFFSET,)


def test_a_record_that_the_lake_lost_is_found_and_named(taken: Path, lake: Path) -> None:
    falsified(lake, "records", lambda rows: [row for row in rows if row["offset"] != _OFFSET])
    check = _one(checked(taken, lake))
    assert (check.report.equal, check.report.only_on_disk) == (39, (1, (_OFFSET,)))
    assert exit_code([check]) == 3
    assert "1 records at offset 17 are on the disk, and not in the lake" in to_text([check])


def test_small_pieces_and_flushes_give_the_same_answer(taken: Path, lake: Path) -> None:
    _changed(lake, value=lambda row: b"!")
    whole = _one(checked(taken, lake))
    small = _one(checked(taken, lake, split_bytes=65536, window_bytes=65536, decoded_bytes=1))
    assert small.report == whole.report
    assert small.report.equal == 39


def test_what_the_disk_deleted_since_is_no_problem(taken: Path, lake: Path) -> None:
    (taken / "orders-0" / f"{0:020d}.log").unlink()
    check = _one(checked(taken, lake))
    assert (check.report.equal, check.only_in_lake, exit_code([check])) == (20, 20, 0)


def test_what_is_not_taken_yet_is_said(taken: Path, lake: Path) -> None:
    marks = {_ORDERS: 50}
    grown = make_log_dir(taken, {_ORDERS: [0, 20, 60]}, high_watermarks=marks)
    check = _one(checked(grown, lake))
    assert (check.report.equal, check.report.not_taken, exit_code([check])) == (40, [(40, 60)], 0)
    assert "20 offsets are not ingested yet, [40, 60): the next ingest reads" in to_text([check])
    ingested(grown, lake)
    check = _one(checked(grown, lake))
    assert check.report.not_taken == [(50, 60)]
    assert "[50, 60): above the high watermark 50" in to_text([check])


def test_a_partition_of_which_nothing_was_taken_is_said(taken: Path, lake: Path) -> None:
    make_log_dir(taken, {_ORDERS: [0, 20, 40], ("payments", 0): [0, 10]})
    checks = checked(taken, lake)
    assert {check.partition: check.report.not_taken for check in checks} == {
        "orders-0": [],
        "payments-0": [(0, 10)],
    }
    assert exit_code(checks) == 0


def test_damage_that_came_later_is_not_compared(taken: Path, lake: Path) -> None:
    log = taken / "orders-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes().replace(b"orders-0@17", b"orders-0@71"))
    check = _one(checked(taken, lake))
    assert (check.report.equal, check.report.damaged_spans, check.only_in_lake) == (35, 1, 5)
    assert exit_code([check]) == 0


def test_sources_of_another_cluster_are_refused(taken: Path, lake: Path) -> None:
    make_log_dir(taken, {_ORDERS: [0, 20]}, cluster_id="another-cluster-000000")
    with pytest.raises(WrongSourceError, match="has nothing of cluster another-cluster-000000"):
        checked(taken, lake)


def test_a_segment_that_changes_meanwhile_is_a_problem(taken: Path, lake: Path) -> None:
    log = taken / "orders-0" / f"{0:020d}.log"
    settings = Settings()
    disks = find_disks([str(taken)], LocalStorage(), settings)
    log.write_bytes(log.read_bytes()[:-1])
    with LocalEngine(1) as engine:
        reporter = RunReporter(io.StringIO())
        check = _one(check_disks(disks, str(lake), LocalStorage(), settings, engine, reporter))
    assert exit_code([check]) == 3
    assert f"PROBLEM  not compared: {log} has" in to_text([check])


def test_copies_that_lost_an_election_differ_and_it_is_explained(tmp_path: Path) -> None:
    disks, lake = broker_disks.unpacked("08_replicas") / "disks" / "diverged", tmp_path / "lake"
    ingested(disks / "broker2", lake)
    checks = checked(disks, lake)
    assert exit_code(checks) == 0
    assert f"rep-1 in {disks}/broker0/data/rep-1  96 records are equal" in to_text(checks)
    assert {reason for check in checks for reason in check.report.explained_differences} == {
        "of another leader"
    }
    ingested(disks, lake)  # now the lake lists what they have in quarantine
    checks = checked(disks, lake)
    assert exit_code(checks) == 0
    assert {reason for check in checks for reason in check.report.explained_differences} == {
        "in quarantine"
    }


def test_what_is_not_taken_begins_where_the_lake_ends(tmp_path: Path) -> None:
    disks, lake = broker_disks.unpacked("08_replicas") / "disks" / "diverged", tmp_path / "lake"
    ingested(disks, lake, read={"upper_bound": "log_end"})
    ends = {row["partition"]: row["next_offset"] for row in read_table(lake, "checkpoints")}
    checks = [check for check in checked(disks, lake) if check.report.not_taken]
    assert checks
    for check in checks:
        assert check.report.not_taken[0][0] == ends[int(check.partition.removeprefix("rep-"))]
    assert " differ, each explained\n" in to_text(checks)


@pytest.mark.parametrize(
    ("isolation", "aborted"), [("read_committed", 69), ("read_uncommitted", 0)]
)
def test_aborted_records_are_on_the_disk_only_where_they_were_left_out(
    isolation: str, aborted: int, tmp_path: Path
) -> None:
    source = Path(__file__).parents[3] / "samples" / "broker-0"
    ingested(source, tmp_path / "lake", isolation=isolation)
    checks = checked(source, tmp_path / "lake")
    assert exit_code(checks) == 0
    assert sum(check.report.left_out.get("aborted", 0) for check in checks) == aborted


@pytest.mark.parametrize(
    ("taken_copy", "compared_copy"), [("after", "before"), ("before", "after")]
)
def test_a_log_that_the_cleaner_rewrote_explains_itself(
    taken_copy: str, compared_copy: str, tmp_path: Path
) -> None:
    disks = broker_disks.unpacked("05_compacted") / "disks"
    ingested(disks / taken_copy, tmp_path / "lake")
    checks = checked(disks / compared_copy, tmp_path / "lake")
    assert [to_text([check]) for check in checks if check.has_problem] == []
    reasons = {reason for check in checks for reason in check.report.left_out}
    expected = {"rewritten by the cleaner", "in a gap (compacted)"}
    assert (expected <= reasons) is (taken_copy == "after")
    assert sum(check.only_in_lake for check in checks) > 0


def test_a_secret_that_no_table_keeps_is_no_difference(data: Path, lake: Path) -> None:
    values = [
        topic_value("orders", TOPIC_IDS["orders"]),
        config_value(4, "1", "ssl.keystore.password", "hunter2"),
    ]
    write_topic(data, METADATA, [batch(0, [(None, value) for value in values])])
    ingested(data, lake, select=INTERNAL)
    check = _one(checked(data, lake))
    assert (check.report.equal, exit_code([check])) == (2, 0)
    falsified(lake, "records", lambda rows: [row | {"value": None} for row in rows])
    check = _one(checked(data, lake))
    assert check.report.different == (1, (0,))


@pytest.mark.parametrize("broker_id", [0, 1], ids=["the same broker", "another one"])
def test_a_copy_of_the_same_leader_that_comes_later_with_other_bytes_is_found(
    broker_id: int, taken: Path, lake: Path
) -> None:
    changed = make_log_dir(taken.parent / "later", {_ORDERS: [0, 20, 40]}, broker_id=broker_id)
    log = changed / "orders-0" / f"{20:020}.log"
    batches = made_batches(*_ORDERS, range(20, 40))
    other = record_batch(25, [Record(b"k", b"other", FIRST_MS) for _ in range(5)])
    log.write_bytes(b"".join(b.data for b in (batches[0], other, *batches[2:])))
    summary = ingested(changed, lake)  # which reads nothing of what is covered
    assert (summary.exit_code, summary.findings.conflicts, summary.records) == (0, {}, 0)
    (check,) = checked(changed, lake)
    assert (exit_code([check]), check.report.equal) == (3, 35)
    assert check.report.different.records == 5
    assert "PROBLEM  5 records at offset 25, 26, 27, 28, 29 differ from the lake" in to_text(
        [check]
    )
    assert exit_code(checked(taken, lake)) == 0


@pytest.mark.parametrize(("taken_copy", "disk"), [("before", "after"), ("after", "before")])
def test_messages_without_a_time_are_equal_when_a_cleaner_wrote_them_in_the_new_format(
    taken_copy: str, disk: str, lake: Path
) -> None:
    ingested(broker_disks.log_dir("13_legacy_in_4x", taken_copy), lake)
    checks = checked(broker_disks.log_dir("13_legacy_in_4x", disk), lake)
    assert exit_code(checks) == 0
    assert sum(check.report.equal for check in checks) == 483
