"""The command lines of the jobs, as text. Does not import Airflow.

Each value is joined to its option by `=`, so that a value may begin with a dash.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from seglake_lakes import Lake


class Window(NamedTuple):
    """Data interval of an Airflow run, half-open."""

    start: datetime
    stop: datetime


# Any: params hold all types that their schema allows.
def job_arguments(
    command: str,
    lake: Lake,
    params: Mapping[str, Any],
    *,
    run_label: str,
    window: Window | None = None,
) -> list[str]:
    """Return the arguments of the job that runs a command.

    Args:
        command: "ingest", "audit", "deserialize", "latest" or "maintain".
        lake: the lake.
        params: the run's params; see `seglake_dags.run_params`.
        run_label: label in every row that the job writes, to find the rows of an Airflow run.
        window: for an ingest, the data interval; None for all new data.
    """
    arguments = [f"--lake={lake.lake}"]
    topics = {"deserialize": lake.deserialize, "latest": lake.latest}.get(command, ())
    if command == "ingest":  # the DAGs of other commands have no params for what is read
        arguments += _sources(params, window)
        topics = params["topics"]
    arguments += [f"--topics={glob}" for glob in topics]
    if command != "latest":
        arguments += _records(lake, params, command if window is None else "backfill")
    if command != "audit":  # a person reads the audit's log
        arguments += [f"--run-id={run_label}", "--json"]
    return [*arguments, *lake.further_arguments(command)]


# Any: params hold all types that their schema allows.
def _sources(params: Mapping[str, Any], window: Window | None) -> list[str]:
    """Return the arguments that say what an ingest reads, except its topics."""
    arguments = [f"--source={source}" for source in params["sources"]]
    if params["isolation"]:
        arguments.append(f"--isolation={params['isolation']}")
    if params["upper_bound"]:
        arguments.append(f"--upper-bound={params['upper_bound']}")
    if params["rescue"]:
        arguments.append("--rescue")
    if window is not None:
        arguments.append(f"--from-timestamp={window.start.isoformat()}")
        arguments.append(f"--to-timestamp={window.stop.isoformat()}")
    return arguments


# Any: params hold all types that their schema allows.
def _records(lake: Lake, params: Mapping[str, Any], task: str) -> list[str]:
    """Return the arguments for the task's own metrics file, and for lineage."""
    arguments = []
    if params["metrics_folder"]:
        folder = params["metrics_folder"].rstrip("/")
        arguments.append(f"--metrics={folder}/{lake.identity}_{task}.prom")
    if params["openlineage"]:
        arguments.append(f"--openlineage={params['openlineage']}")
    return arguments
