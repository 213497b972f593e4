"""Whole runs of the DAGs, on SQLite, with a real spark-submit in client mode.

What a person sees for each exit code: 3 is done and red, 2 is not tried again, 1 is.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from deltalake import DeltaTable

from support.lakes import content, ingested
from support.quick_spark import quick_environment
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


# The second run of a lake finds nothing to do.
_RUNS = (
    *("seglake_ingest_look", "seglake_ingest_typed", "seglake_ingest_typed"),
    *("seglake_maintain_kept", "seglake_ingest_wrong"),
)
_TYPED_TOPICS = ["_schemas", "avro_bad"]


class Task(NamedTuple):
    state: str
    tries: int


class Runs(NamedTuple):
    """All runs of the DAGs; the n-th log is of the n-th of `_RUNS`."""

    airflow: Airflow
    logs: list[str]

    def of(self, dag_id: str) -> list[tuple[dict[str, Task], str]]:
        """Return the tasks and the log of each run of a DAG."""
        asked = "select run_id from dag_run where dag_id = ? order by id"
        ids = [run_id for (run_id,) in self._asked(asked, dag_id)]
        logs = [log for name, log in zip(_RUNS, self.logs, strict=True) if name == dag_id]
        tasks = "select task_id, state, try_number from task_instance where run_id = ?"
        tasks += " and dag_id = ?"
        return [
            ({name: Task(*how) for name, *how in self._asked(tasks, run_id, dag_id)}, log)
            for run_id, log in zip(ids, logs, strict=True)
        ]

    def events(self, dag_id: str) -> list[dict[str, object]]:
        """Return what the runs of a DAG have published of its lake."""
        rows = self._asked(
            "select extra from asset_event where source_dag_id = ? order by id", dag_id
        )
        return [json.loads(extra) for (extra,) in rows]

    # Any: columns of many types.
    def _asked(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.airflow.sqlite)) as database:
            return database.execute(query, values).fetchall()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    require_airflow()
    folder = tmp_path_factory.mktemp("airflow")
    jobs = folder / "jobs"
    jobs.mkdir()
    (jobs / "ingest_segments.py").write_text(_FAILS_ONCE, "utf-8")
    (jobs / "deserialize_values.py").symlink_to(ROOT / "jobs" / "deserialize_values.py")
    common: dict[str, object] = {"sources": [str(_SAMPLE)], "audit": False, "retries": 2}
    look: dict[str, object] = {"audit": True, "audit_arguments": [_LOCAL]}
    wrong: dict[str, object] = {"sources": [str(folder / "nowhere")], "arguments": [_LOCAL]}
    kept: dict[str, object] = {"maintain_arguments": [_LOCAL]}
    typed: dict[str, object] = {
        "jobs": str(jobs),
        "sources": [str(typed_disk())],
        "topics": _TYPED_TOPICS,
        "arguments": [_LOCAL],
        "deserialize": ["*"],
        "deserialize_arguments": [_LOCAL],
    }
    ingested(_SAMPLE, folder / "kept", isolation="read_committed")
    found = Airflow(
        folder,
        variables=quick_environment(tmp_path_factory.mktemp("spark-conf")),
        lakes=[
            {**common, **more, "name": name, "lake": str(folder / name)}
            for name, more in (
                *(("look", look), ("typed", typed)),
                *(("wrong", wrong), ("kept", kept)),
            )
        ],
    )
    found.prepare()
    commands = [("db", "migrate"), *(("dags", "test", name) for name in _RUNS)]
    return Runs(found, found.run_all(commands)[1:])


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same disk, taken without Airflow."""
    lake = tmp_path_factory.mktemp("plain") / "lake"
    ingested(_SAMPLE, lake, isolation="read_committed")
    return lake


def test_exit_code_three_is_committed_published_and_red(runs: Runs, plain: Path) -> None:
    [(tasks, log)] = runs.of("seglake_ingest_look")
    assert tasks == {
        "ingest": Task("success", 1),
        "audit": Task("success", 1),
        "needs_a_look": Task("failed", 1),
    }, log
    (event,) = runs.events("seglake_ingest_look")
    assert (event["exit_code"], event["records"], event["quarantined"]) == (3, 2070, 2)
    assert event["look_at"] == [
        "limit crossed: limits.fail_on_quarantine: 2 quarantined in v2-none-1 (1), v2-zstd-1 (1)"
    ]
    assert "person should look at\n- limit crossed: limits.fail_on_quarantine" in log
    assert "What each red task means, and what to do, is in the documentation" in log
    assert "has a record or a recorded cause" in log  # said by the audit
    lake = runs.airflow.folder / "look"
    for table in _TABLES:
        assert content(lake, table) == content(plain, table)


def test_values_that_do_not_decode_make_one_task_red_in_the_run_that_finds_them(
    runs: Runs,
) -> None:
    (first, log), (second, log_of_second) = runs.of("seglake_ingest_typed")
    assert first == {
        "ingest": Task("success", 2),
        "audit": Task("skipped", 1),
        "needs_a_look": Task("success", 1),
        "deserialize": Task("failed", 1),
    }, log
    assert "A person should look: limit crossed: limits.fail_on_rejects: " in log
    assert DeltaTable(str(runs.airflow.folder / "typed" / "typed" / "avro_bad")).version() > 0
    assert second["deserialize"] == Task("success", 1), log_of_second


def test_exit_code_one_is_tried_again_and_nothing_doubles(runs: Runs, tmp_path: Path) -> None:
    (first, log), (second, _) = runs.of("seglake_ingest_typed")
    assert (first["ingest"], second["ingest"]) == (Task("success", 2), Task("success", 1)), log
    event, _ = runs.events("seglake_ingest_typed")
    assert (event["exit_code"], event["records"]) == (0, 0)  # the first try had committed them
    lake, plain = runs.airflow.folder / "typed", tmp_path / "plain"
    select = {"topics": _TYPED_TOPICS}
    ingested(typed_disk(), plain, isolation="read_committed", select=select)
    assert content(lake, "records")
    for table in _TABLES:
        assert content(lake, table) == content(plain, table)


def test_maintenance_is_green_and_changes_no_row(runs: Runs, plain: Path) -> None:
    lake = runs.airflow.folder / "kept"
    [(tasks, log)] = runs.of("seglake_maintain_kept")
    assert tasks == {"maintain": Task("success", 1)}, log
    assert len(DeltaTable(str(lake / "checkpoints")).file_uris()) == 1
    for table in _TABLES:
        assert content(lake, table) == content(plain, table)


def test_exit_code_two_is_not_tried_again(runs: Runs) -> None:
    [(tasks, log)] = runs.of("seglake_ingest_wrong")
    assert tasks["ingest"] == Task("failed", 1), log
    assert {tasks[name].state for name in ("audit", "needs_a_look")} == {"upstream_failed"}
    assert runs.events("seglake_ingest_wrong") == []
    assert "exit code 2: a wrong call or setting, nothing was touched" in log
    assert not (runs.airflow.folder / "wrong").exists()
