"""The DAGs of a lake: scheduled ingest, ingest of data intervals on demand, maintenance.

Other files in a dags folder may call these functions to make DAGs for another `Lake`.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from seglake_airflow import (
    BACKOFF,
    DAG,
    AirflowFailException,
    AirflowSkipException,
    CronDataIntervalTimetable,
    Param,
    PythonOperator,
    asset_of,
)
from seglake_arguments import Window, job_arguments
from seglake_job import SeglakeJob
from seglake_lakes import Lake
from seglake_outcome import ExitCode
from seglake_runbook import failure_callback, page

# This start date is older than any log, so every data interval can be requested.
_FIRST_DAY = datetime(2010, 1, 1, tzinfo=UTC)
_RUNS_AT_ONCE = 3
_LONGEST_WAIT = timedelta(hours=1)

# Any: Airflow's context, and the values of params.
Context = Any
Arguments = Callable[..., list[str]]


def ingest_dag(lake: Lake) -> DAG:
    """Return the DAG that ingests new data on a schedule."""
    with DAG(
        lake.dag_id("ingest"),
        schedule=lake.schedule,
        max_active_runs=1,
        description=f"What is new for {lake.lake}",
        **_common(lake, run_params(lake, audits=lake.audit)),
    ) as dag:
        _add_tasks(lake, by_interval=False)
    return dag


def backfill_dag(lake: Lake) -> DAG:
    """Return the DAG that ingests data intervals, in any order and several at once."""
    with DAG(
        lake.dag_id("backfill"),
        schedule=CronDataIntervalTimetable(lake.backfill_schedule, timezone="UTC"),
        max_active_runs=_RUNS_AT_ONCE,
        description=f"Data intervals for {lake.lake}",
        **_common(lake, run_params(lake, audits=False)),
    ) as dag:
        _add_tasks(lake, by_interval=True)
    return dag


def maintain_dag(lake: Lake) -> DAG:
    """Return the DAG that compacts a lake's tables and deletes unneeded files."""
    with DAG(
        lake.dag_id("maintain"),
        schedule=lake.maintain_schedule or None,
        max_active_runs=1,
        description=f"Maintenance of {lake.lake}",
        **_common(lake, _record_params(lake)),
    ) as dag:
        _job(
            lake,
            "maintain",
            fails_on_look=True,
            pool=lake.pool_name,
        )
    return dag


def run_params(lake: Lake, *, audits: bool) -> dict[str, Param]:
    """Return the params of a run.

    The lake is not a param, because its DAGs have a fixed pool and asset.

    Args:
        lake: the lake, whose values are the defaults.
        audits: the default of the param `audit`.
    """
    values = lake.params
    texts = {"type": "array", "items": {"type": "string", "minLength": 1}}
    return {
        "sources": Param(
            values["sources"], minItems=1, description="log dirs, or folders above them", **texts
        ),
        "topics": Param(
            values["topics"], description="globs; a leading ! excludes; empty: all", **texts
        ),
        "isolation": Param(
            values["isolation"],
            enum=["", "read_committed", "read_uncommitted"],
            description="empty: as in the settings; each topic of a lake keeps its first "
            "isolation level",
        ),
        "upper_bound": Param(
            values["upper_bound"],
            enum=["", "high_watermark", "log_end"],
            description="empty: as in the settings; log_end: for the disks of a dead cluster",
        ),
        "rescue": Param(
            values["rescue"],
            type="boolean",
            description="for disks of a dead cluster: ingest everything that any disk still has",
        ),
        "audit": Param(audits, type="boolean", description="prove the whole lake afterwards"),
        **_record_params(lake),
    }


def _record_params(lake: Lake) -> dict[str, Param]:
    return {
        "metrics_folder": Param(
            lake.metrics_folder,
            type="string",
            description="for node_exporter's textfile collector; empty: none",
        ),
        "openlineage": Param(
            lake.openlineage, type="string", description="file or URL for lineage; empty: none"
        ),
    }


# Any: arguments of DAG.
def _common(lake: Lake, params: Mapping[str, Param]) -> dict[str, Any]:
    return {
        "start_date": _FIRST_DAY,
        "catchup": False,
        "params": dict(params),
        "doc_md": page(lake),
        "tags": ["seglake", *filter(None, [lake.name])],
        "default_args": {
            "owner": lake.owner,
            "retries": lake.retries,
            "retry_delay": timedelta(minutes=lake.retry_minutes),
            "retry_exponential_backoff": BACKOFF,  # the delays are 5, 10 and 20 minutes
            "max_retry_delay": _LONGEST_WAIT,
            "execution_timeout": timedelta(hours=lake.timeout_hours),
            "on_failure_callback": [failure_callback(lake)],
        },
    }


def _add_tasks(lake: Lake, *, by_interval: bool) -> None:
    ingest = _job(
        lake,
        "ingest",
        by_interval=by_interval,
        pool=lake.pool_name,
        outlets=[asset_of(lake.identity, lake.asset_uri)],
    )
    audit = _job(
        lake,
        "audit",
        fails_on_look=True,
        pre_execute=_skip_unless_audited,
    )
    look = PythonOperator(
        task_id="needs_a_look",
        python_callable=_fail_if_look,
        op_kwargs={"outcome": ingest.output},
        doc_md="Red: the data is committed and published, but a person should look.",
    )
    ingest >> [look, audit]
    for command, topics in (("deserialize", lake.deserialize), ("latest", lake.latest)):
        if topics:
            ingest >> _job(lake, command, fails_on_look=True, pool=lake.pool_name)


# Any: further arguments of the operator.
def _job(lake: Lake, command: str, *, by_interval: bool = False, **more: Any) -> SeglakeJob:
    """Return the Airflow task that runs a command; the task's id is the command's name."""
    return SeglakeJob(
        task_id=command,
        application_args=_arguments(lake, command, by_interval=by_interval),
        venv=lake.venv,
        **lake.submitted(command),
        **more,
    )


def _arguments(lake: Lake, command: str, *, by_interval: bool) -> Arguments:
    """Return a function for `application_args`; Airflow calls it and shows its result."""

    def arguments(context: Context, jinja_env: object) -> list[str]:
        window = _window(context) if by_interval else None
        label = context["dag_run"].run_id
        return job_arguments(command, lake, context["params"], run_label=label, window=window)

    return arguments


def _window(context: Context) -> Window:
    start, stop = context.get("data_interval_start"), context.get("data_interval_end")
    if start is None or stop is None or start == stop:
        raise AirflowFailException(
            "this run has no data interval: trigger it with a logical date, or create intervals "
            "with"
            " `airflow backfill create`"
        )
    return Window(start, stop)


def _skip_unless_audited(context: Context) -> None:
    if not context["params"]["audit"]:
        raise AirflowSkipException("the run's param `audit` is false")


def _fail_if_look(outcome: Mapping[str, Any]) -> None:
    if outcome["exit_code"] == ExitCode.LOOK:
        named = "".join(f"\n- {line}" for line in outcome["look_at"])
        raise AirflowFailException(
            f"exit code 3: the data is committed and published, but a person should look at{named}"
        )
