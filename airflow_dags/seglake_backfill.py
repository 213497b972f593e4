"""Airflow finds here a DAG for each lake that takes data intervals, made by `airflow backfill`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # Airflow has only the top of the dags folder there

from seglake_dags import backfill_dag
from seglake_lakes import lakes

for _lake in lakes():
    backfill_dag(_lake)
