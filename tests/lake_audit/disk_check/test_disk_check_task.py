"""What a task compares of a disk, and what it leaves out."""

import io
from pathlib import Path

from seglake.pipelines.lake_audit.disk_check.disk_check import check_disks, find_disks
from seglake.pipelines.lake_audit.disk_check.disk_check_report import exit_code, to_text
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import LocalEngine
from support.audits import change_record, checked, falsified, only_copy
from support.encoder.internal import config_value, topic_value
from support.internal_logs import INTERNAL, METADATA, batch, write_topic
from support.lakes import ingested
from support.made_logs import TOPIC_IDS


def test_small_pieces_and_flushes_give_the_same_answer(taken: Path, lake: Path) -> None:
    change_record(lake, value=lambda row: b"!")
    whole = only_copy(checked(taken, lake))
    small = only_copy(checked(taken, lake, split_bytes=65536, window_bytes=65536, decoded_bytes=1))
    assert small.report == whole.report
    assert small.report.equal == 39


def test_damage_that_came_later_is_not_compared(taken: Path, lake: Path) -> None:
    log = taken / "orders-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes().replace(b"orders-0@17", b"orders-0@71"))
    check = only_copy(checked(taken, lake))
    assert (check.report.equal, check.report.damaged_spans, check.only_in_lake) == (35, 1, 5)
    assert exit_code([check]) == 0


def test_a_segment_that_changes_meanwhile_is_a_problem(taken: Path, lake: Path) -> None:
    log = taken / "orders-0" / f"{0:020d}.log"
    settings = Settings()
    disks = find_disks([str(taken)], str(lake), LocalStorage(), settings)
    log.write_bytes(log.read_bytes()[:-1])
    with LocalEngine(1) as engine:
        reporter = RunReporter(io.StringIO())
        check = only_copy(check_disks(disks, str(lake), LocalStorage(), settings, engine, reporter))
    assert (exit_code([check]), check.has_problem) == (3, True)
    assert f"PROBLEM  not compared: {log} has" in to_text([check])


def test_a_secret_that_no_table_keeps_is_no_difference(data: Path, lake: Path) -> None:
    values = [
        topic_value("orders", TOPIC_IDS["orders"]),
        config_value(4, "1", "ssl.keystore.password", "hunter2"),
    ]
    write_topic(data, METADATA, [batch(0, [(None, value) for value in values])])
    ingested(data, lake, select=INTERNAL)
    check = only_copy(checked(data, lake))
    assert (check.report.equal, exit_code([check])) == (2, 0)
    falsified(lake, "records", lambda rows: [row | {"value": None} for row in rows])
    check = only_copy(checked(data, lake))
    assert check.report.different == (1, (0,))
