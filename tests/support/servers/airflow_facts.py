"""Runs in Airflow's own Python: prints what it sees in a dags folder, as one line of JSON."""

import copy
import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FOREIGN = ("pyspark", "jobs", "pipelines", "lake", "segment_codec")
CHANGED_PARAMS: tuple[dict[str, object], ...] = (
    {},
    {"topics": ["orders*", "!orders-test"], "sources": ["/disk 1", "s3a://b/disk"]},
    {"isolation": "read_uncommitted", "upper_bound": "log_end"},
)

for name in FOREIGN:
    sys.modules[name] = None  # type: ignore[assignment]  # an import fails, as if it were absent

_START, _STOP = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 2, tzinfo=UTC)

# Any: objects of Airflow, which the environment of the tests does not have.


def main(folder: str) -> None:
    """Parse a folder and print the facts."""
    try:  # behind what must not be there
        from airflow.dag_processing.dagbag import DagBag
    except ImportError:  # before Airflow 3.2
        from airflow.models.dagbag import DagBag

    begun = time.process_time()
    bag = DagBag(dag_folder=folder)
    cpu_seconds = time.process_time() - begun  # what else the machine does is not in it
    facts = {
        "import_errors": bag.import_errors,
        "files": sorted(Path(dagbag_stat.file).name for dagbag_stat in bag.dagbag_stats),
        "cpu_seconds": cpu_seconds,
        "foreign": [name for name in FOREIGN if sys.modules[name] is not None],
        "dags": {dag_id: _dag(dag) for dag_id, dag in bag.dags.items()},
        "refusals": _refusals(bag) if bag.dags else {},
    }
    sys.stdout.write(json.dumps(facts) + "\n")


def _dag(dag: Any) -> dict[str, object]:
    return {
        "timetable": type(dag.timetable).__name__,
        "schedule": getattr(dag.timetable, "expression", None),  # none where nothing schedules it
        "catchup": dag.catchup,
        "max_active_runs": dag.max_active_runs,
        "doc": dag.doc_md,
        "params": {name: param.schema for name, param in dag.params.items()},
        "defaults": dag.params.dump(),
        "tasks": {task.task_id: _task(task, dag.params.dump()) for task in dag.tasks},
    }


def _task(task: Any, params: dict[str, Any]) -> dict[str, object]:
    return {
        "type": task.task_type,
        "upstream": sorted(task.upstream_task_ids),
        "pool": task.pool,
        "retries": task.retries,
        "trigger_rule": task.trigger_rule.value,
        "timeout_seconds": task.execution_timeout.total_seconds(),
        "outlets": [[getattr(asset, "name", ""), asset.uri] for asset in task.outlets],
        "callbacks": len(task.on_failure_callback),
        "application": getattr(task, "application", None),
        "connection": getattr(task, "_conn_id", None),
        "arguments": [_arguments(task, params | changed) for changed in CHANGED_PARAMS],
    }


def _arguments(task: Any, params: dict[str, Any]) -> object:
    """The application's arguments, rendered as Airflow does it before a run."""
    if not hasattr(task, "application_args"):
        return None
    return _rendered(task, params, {"data_interval_start": _START, "data_interval_end": _STOP})


def _rendered(task: Any, params: dict[str, Any], interval: dict[str, datetime]) -> object:
    context = {"params": params, "dag_run": SimpleNamespace(run_id="manual__1"), **interval}
    own = copy.copy(task)
    own.render_template_fields(context, jinja_env=task.get_template_env())
    return own.application_args


def _refusals(bag: Any) -> dict[str, str]:
    """Return the errors that end a task before it calls anything, by task."""
    from seglake_airflow import AirflowFailException
    from seglake_job import environment_of

    dag = bag.dags["seglake_backfill"]
    calls: dict[str, Callable[[], object]] = {
        "no interval": lambda: _rendered(dag.task_dict["ingest"], dag.params.dump(), {}),
        "no environment": lambda: environment_of(Path("/nowhere")),
    }
    found = {}
    for name, call in calls.items():
        try:
            call()
        except AirflowFailException as error:
            found[name] = str(error)
    return found


if __name__ == "__main__":
    main(sys.argv[1])
