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
        run_label: label of the run.
        window: for an ingest, the data interval; None for all new data.
    """
    match command:
        case "ingest":
            return ingest_arguments(lake, params, run_label=run_label, window=window)
        case "audit":
            return audit_arguments(lake, params)
        case "deserialize":
            return deserialize_arguments(lake, params, run_label=run_label)
        case "latest":
            return latest_arguments(lake, run_label=run_label)
        case _:
            return maintain_arguments(lake, params, run_label=run_label)


# Any: params hold all types that their schema allows.
def ingest_arguments(
    lake: Lake, params: Mapping[str, Any], *, run_label: str, window: Window | None
) -> list[str]:
    """Return the arguments of `ingest_segments.py`.

    Args:
        lake: the lake to ingest into.
        params: the run's params; see `seglake_dags.run_params`.
        run_label: label in every row that the job writes, to find the rows of an Airflow run.
        window: the data interval to ingest; None for all new data.
    """
    arguments = [f"--source={source}" for source in params["sources"]]
    arguments.append(f"--lake={lake.lake}")
    arguments += [f"--topics={glob}" for glob in params["topics"]]
    if params["isolation"]:
        arguments.append(f"--isolation={params['isolation']}")
    if params["upper_bound"]:
        arguments.append(f"--upper-bound={params['upper_bound']}")
    if params["rescue"]:
        arguments.append("--rescue")
    if window is not None:
        arguments.append(f"--from-timestamp={window.start.isoformat()}")
        arguments.append(f"--to-timestamp={window.stop.isoformat()}")
    arguments += _records(lake, params, "ingest" if window is None else "backfill")
    return [*arguments, f"--run-id={run_label}", "--json", *lake.arguments]


def audit_arguments(lake: Lake, params: Mapping[str, Any]) -> list[str]:
    """Return the arguments of `audit_lake.py`; without --json, because a person reads the log."""
    return [f"--lake={lake.lake}", *_records(lake, params, "audit"), *lake.audit_arguments]


# Any: params hold all types that their schema allows.
def deserialize_arguments(lake: Lake, params: Mapping[str, Any], *, run_label: str) -> list[str]:
    """Return the arguments of `deserialize_values.py`, with the run's label for its commits."""
    topics = [f"--topics={glob}" for glob in lake.deserialize]
    records = _records(lake, params, "deserialize")
    label = f"--run-id={run_label}"
    return [f"--lake={lake.lake}", *topics, *records, label, "--json", *lake.deserialize_arguments]


def latest_arguments(lake: Lake, *, run_label: str) -> list[str]:
    """Return the arguments of `update_latest.py`, with the run's label for its commits."""
    topics = [f"--topics={glob}" for glob in lake.latest]
    label = f"--run-id={run_label}"
    return [f"--lake={lake.lake}", *topics, label, "--json", *lake.latest_arguments]


# Any: params hold all types that their schema allows.
def maintain_arguments(lake: Lake, params: Mapping[str, Any], *, run_label: str) -> list[str]:
    """Return the arguments of `maintain_lake.py`, with the run's label for its commits."""
    records = _records(lake, params, "maintain")
    label = f"--run-id={run_label}"
    return [f"--lake={lake.lake}", *records, label, "--json", *lake.maintain_arguments]


def _records(lake: Lake, params: Mapping[str, Any], task: str) -> list[str]:
    """Return the arguments for the task's own metrics file, and for lineage."""
    arguments = []
    if params["metrics_folder"]:
        folder = params["metrics_folder"].rstrip("/")
        arguments.append(f"--metrics={folder}/{lake.identity}_{task}.prom")
    if params["openlineage"]:
        arguments.append(f"--openlineage={params['openlineage']}")
    return arguments
