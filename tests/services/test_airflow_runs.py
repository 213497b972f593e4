"""Whole runs of the DAGs, on SQLite, with a real spark-submit in client mode.

What a person sees for each exit code: 3 is done and red, 2 is not tried again, 1 is.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from deltalake import DeltaTable

from support.lakes import content, ingested
from support.servers.airflow_server import ROOT, Airflow, require_airflow
from support.typed_disk import typed_disk

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(900)]

_SAMPLE = ROOT / "samples" / "broker-0"
_TABLES = ("records", "batches", "quarantine", "gaps")
_LOCAL = "--engine=local"  # without Spark's tasks, where they are not what is looked at
_FAILS_ONCE = """\
import pathlib, sys
from seglake.cli.ingest_command import main
code = main(sys.argv[1:])
mark = pathlib.Path(__file__).with_suffix(".mark")
if not mark.exists():
    mark.touch()
    sys.exit(1)
sys.exit(code)
"""


class Task(NamedTuple):
    state: str
    tries: int


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    require_airflow()
    folder = tmp_path_factory.mktemp("airflow")
    jobs = folder / "jobs"
    jobs.mkdir()
    (jobs / "ingest_segments.py").write_text(_FAILS_ONCE, "utf-8")
    common: dict[str, object] = {"sources": [str(_SAMPLE)], "audit": False, "retries": 2}
    look: dict[str, object] = {"audit": True}
    again: dict[str, object] = {"jobs": str(jobs), "arguments": [_LOCAL]}
    wrong: dict[str, object] = {"sources": [str(folder / "nowhere")], "arguments": [_LOCAL]}
    kept: dict[str, object] = {"maintain_arguments": [_LOCAL]}
    typed: dict[str, object] = {
        "sources": [str(typed_disk())],
        "topics": ["_schemas", "avro_bad"],
        "arguments": [_LOCAL],
        "deserialize": ["*"],
        "deserialize_arguments": [_LOCAL],
    }
    ingested(_SAMPLE, folder / "kept", isolation="read_committed")
    found = Airflow(
        folder,
        [
            {**common, **more, "name": name, "lake": str(folder / name)}
            for name, more in (
                *(("look", look), ("again", again)),
                *(("wrong", wrong), ("kept", kept), ("typed", typed)),
            )
        ],
    )
    found.prepare()
    found.run("db", "migrate")
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same disk, taken without Airflow."""
    lake = tmp_path_factory.mktemp("plain") / "lake"
    ingested(_SAMPLE, lake, isolation="read_committed")
    return lake


def tasks_of(airflow: Airflow, dag_id: str) -> dict[str, Task]:
    rows = asked(
        airflow, "select task_id, state, try_number from task_instance where dag_id", dag_id
    )
    return {task_id: Task(state, tries) for task_id, state, tries in rows}


def events_of(airflow: Airflow, dag_id: str) -> list[dict[str, object]]:
    rows = asked(airflow, "select extra from asset_event where source_dag_id", dag_id)
    return [json.loads(extra) for (extra,) in rows]


# Any: columns of many types.
def asked(airflow: Airflow, query: str, dag_id: str) -> Iterator[tuple[Any, ...]]:
    with closing(sqlite3.connect(airflow.sqlite)) as database:
        yield from database.execute(f"{query} = ?", (dag_id,)).fetchall()


def test_exit_code_three_is_committed_published_and_red(airflow: Airflow, plain: Path) -> None:
    log = airflow.run("dags", "test", "seglake_ingest_look", is_checked=False)
    assert tasks_of(airflow, "seglake_ingest_look") == {
        "ingest": Task("success", 1),
        "audit": Task("success", 1),
        "needs_a_look": Task("failed", 1),
    }, log
    (event,) = events_of(airflow, "seglake_ingest_look")
    assert (event["exit_code"], event["records"], event["quarantined"]) == (3, 2070, 2)
    assert event["look_at"] == [
        "limit crossed: limits.fail_on_quarantine: 2 quarantined in v2-none-1 (1), v2-zstd-1 (1)"
    ]
    assert "person should look at\n- limit crossed: limits.fail_on_quarantine" in log
    assert "What each red task means, and what to do, is in the documentation" in log
    assert "has a record or a recorded cause" in log  # said by the audit
    lake = airflow.folder / "look"
    for table in _TABLES:
        assert content(lake, table) == content(plain, table)


def test_values_that_do_not_decode_make_one_task_red_in_the_run_that_finds_them(
    airflow: Airflow,
) -> None:
    log = airflow.run("dags", "test", "seglake_ingest_typed", is_checked=False)
    assert tasks_of(airflow, "seglake_ingest_typed") == {
        "ingest": Task("success", 1),
        "audit": Task("skipped", 1),
        "needs_a_look": Task("success", 1),
        "deserialize": Task("failed", 1),
    }, log
    assert "A person should look: limit crossed: limits.fail_on_rejects: " in log
    assert DeltaTable(str(airflow.folder / "typed" / "typed" / "avro_bad")).version() > 0
    log = airflow.run("dags", "test", "seglake_ingest_typed", is_checked=False)
    assert tasks_of(airflow, "seglake_ingest_typed")["deserialize"] == Task("success", 1), log


def test_exit_code_one_is_tried_again_and_nothing_doubles(airflow: Airflow, plain: Path) -> None:
    log = airflow.run("dags", "test", "seglake_ingest_again", is_checked=False)
    assert tasks_of(airflow, "seglake_ingest_again") == {
        "ingest": Task("success", 2),
        "audit": Task("skipped", 1),
        "needs_a_look": Task("success", 1),
    }, log
    (event,) = events_of(airflow, "seglake_ingest_again")
    assert (event["exit_code"], event["records"]) == (0, 0)  # the first try had committed them
    lake = airflow.folder / "again"
    for table in _TABLES:
        assert content(lake, table) == content(plain, table)


def test_maintenance_is_green_and_changes_no_row(airflow: Airflow, plain: Path) -> None:
    lake = airflow.folder / "kept"
    for _ in range(2):  # the second finds nothing to do
        log = airflow.run("dags", "test", "seglake_maintain_kept", is_checked=False)
        assert tasks_of(airflow, "seglake_maintain_kept") == {"maintain": Task("success", 1)}, log
    assert len(DeltaTable(str(lake / "checkpoints")).file_uris()) == 1
    for table in _TABLES:
        assert content(lake, table) == content(plain, table)


def test_exit_code_two_is_not_tried_again(airflow: Airflow) -> None:
    log = airflow.run("dags", "test", "seglake_ingest_wrong", is_checked=False)
    tasks = tasks_of(airflow, "seglake_ingest_wrong")
    assert tasks["ingest"] == Task("failed", 1), log
    assert {tasks[name].state for name in ("audit", "needs_a_look")} == {"upstream_failed"}
    assert events_of(airflow, "seglake_ingest_wrong") == []
    assert "exit code 2: a wrong call or setting, nothing was touched" in log
    assert not (airflow.folder / "wrong").exists()
