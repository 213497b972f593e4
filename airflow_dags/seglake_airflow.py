"""Names of Airflow that differ between 2.10 and 3. Only this module depends on the release."""

from typing import Any

try:
    from airflow.sdk import CronDataIntervalTimetable
    from airflow.sdk.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowSkipException,
    )

    BACKOFF: float = 2.0
except ImportError:  # releases before Airflow 3.2
    from airflow.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowSkipException,
    )
    from airflow.timetables.interval import CronDataIntervalTimetable

    BACKOFF = True
try:
    from airflow.providers.standard.operators.python import PythonOperator
    from airflow.sdk import DAG, Asset, Param
except ImportError:  # releases of Airflow 2
    from airflow import DAG
    from airflow.datasets import Dataset as Asset
    from airflow.models.param import Param
    from airflow.operators.python import PythonOperator

__all__ = [
    "BACKOFF",
    "DAG",
    "AirflowException",
    "AirflowFailException",
    "AirflowSkipException",
    "CronDataIntervalTimetable",
    "Param",
    "PythonOperator",
    "asset_of",
]


# Any: Airflow's class, which the type checker does not see.
def asset_of(name: str, uri: str) -> Any:
    """Return an asset.

    In Airflow 2 an asset is called a dataset, and only has a URI.
    """
    return Asset(uri) if Asset.__name__ == "Dataset" else Asset(name=name, uri=uri)
