"""A real scheduler on PostgreSQL: data intervals of one log, several at once, newest first."""

import re
import shlex
import shutil
import time
from pathlib import Path

import pytest

from support.audits import audited
from support.lakes import content, ingested, read_table
from support.servers.airflow_server import DAGS, ROOT, Airflow, require_airflow, serving
from support.servers.postgres_server import Postgres, postgres, require_postgres

pytestmark = [pytest.mark.airflow, pytest.mark.slow, pytest.mark.timeout(1800)]

_SAMPLE = ROOT / "samples" / "broker-0"
_TOPICS = ["v2-*"]  # written on 27 July 2023 from 9:11 to 10:00
_TABLES = ("records", "batches", "quarantine", "gaps")
_INTERVALS = 3
# Fires twice a year, so that the three intervals lie around these times and none is due meanwhile:
# one cuts v2-none, the other v2-lz4, and v2-zstd lies behind both.
_SCHEDULE = "12,44 9 27 7 *"
_CHANGED = {  # in the commands of docs/airflow.md
    "local[4]": "local[1]",
    "1": "3",  # places in the pool
    "2026-11-01": "2022-07-27T09:44:00",
    "2026-11-30": "2023-07-27T09:44:00",
}
_AT_ONCE = ("--max-active-runs", "3", "--run-backwards")
_DAG_ID = "seglake_backfill"
_CONSUMER = "count_orders"
_MOST_SECONDS = 1200
_RUN_STATES = "select dag_id, run_type, state, count(*) from dag_run group by 1, 2, 3"
_BACKFILL = "from task_instance t join dag_run using (dag_id, run_id) where run_type = 'backfill'"


def readme_dag(lake: Path) -> str:
    """The DAG that the folder's README shows, scheduled on the asset of another lake."""
    blocks = re.findall(r"```python\n(.*?)```", (DAGS / "README.md").read_text("utf-8"), re.DOTALL)
    (found,) = [block for block in blocks if f'"{_CONSUMER}"' in block]
    return str(found).replace("/data/lake", str(lake))


def page_commands() -> list[list[str]]:
    """The commands of Airflow that docs/airflow.md shows, without those of the schedule."""
    text = (ROOT / "docs" / "airflow.md").read_text("utf-8")
    lines = [line for line in text.splitlines() if line.startswith("airflow ")]
    return [shlex.split(line, comments=True)[1:] for line in lines if "seglake_ingest" not in line]


def wait_for(database: Postgres, query: str, *expected: str) -> None:
    """Wait until a query gives a row; a failed run ends the wait."""
    end = time.monotonic() + _MOST_SECONDS
    found: list[list[str]] = []
    while time.monotonic() < end:
        found = database.rows(query)
        if list(expected) in found:
            return
        assert not [row for row in found if "failed" in row], found
        time.sleep(1)
    pytest.fail(f"{query} did not give {expected}: {found}")


def backfill(airflow: Airflow, database: Postgres) -> None:
    """Take the intervals, and wait until who depends on the tables was told of all."""
    airflow.run("dags", "unpause", _CONSUMER)
    for command in page_commands():
        changed = [_CHANGED.get(word, word) for word in command]
        airflow.run(*changed, *(_AT_ONCE if command[0] == "backfill" else ()))
    wait_for(database, _RUN_STATES, _DAG_ID, "backfill", "success", str(_INTERVALS))
    told = (
        "select count(distinct event_id) from dagrun_asset_event join asset_event on id = event_id"
        " where source_run_id like 'backfill__%'"
    )
    wait_for(database, told, str(_INTERVALS))


def test_intervals_taken_at_once_make_the_tables_of_a_plain_ingest(tmp_path: Path) -> None:
    require_airflow()
    require_postgres()
    lake, plain, dags = tmp_path / "lake", tmp_path / "plain", tmp_path / "dags"
    dags.mkdir()
    shutil.copytree(DAGS, dags / "seglake")
    (dags / "consumer.py").write_text(readme_dag(lake), "utf-8")
    settings = {
        "lake": str(lake),
        "sources": [str(_SAMPLE)],
        "topics": _TOPICS,
        "arguments": ["--set=limits.fail_on_quarantine=false"],
        "backfill_schedule": _SCHEDULE,
    }
    airflow = Airflow(tmp_path / "airflow", [settings], dags, master="")
    airflow.prepare()
    with (
        postgres(tmp_path / "postgres.log") as database,
        serving(airflow, database, parallelism=4),
    ):
        backfill(airflow, database)
        states = f"select task_id, t.state, try_number, count(*) {_BACKFILL} group by 1, 2, 3"
        tasks = sorted(database.rows(states))
        times = f"select t.start_date, t.end_date {_BACKFILL} and task_id = 'ingest' order by 1"
        spans = database.rows(times)
    assert tasks == [
        ["audit", "skipped", "1", "3"],
        ["ingest", "success", "1", "3"],
        ["needs_a_look", "success", "1", "3"],
    ]
    assert spans[1][0] < spans[0][1], "no two of them ran at once"
    ingested(_SAMPLE, plain, isolation="read_committed", select={"topics": _TOPICS})
    for table in _TABLES:
        assert content(lake, table) == content(plain, table)
    assert len({row["run_id"] for row in read_table(lake, "records")}) == _INTERVALS
    assert audited(lake).exit_code == 0
