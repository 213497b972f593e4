"""Defines a DAG for each lake that ingests data intervals, for `airflow backfill`."""

import sys
from pathlib import Path

# Airflow has only the top of the dags folder on the path
sys.path.append(str(Path(__file__).parent))

from seglake_dags import backfill_dag
from seglake_lakes import lakes

for _lake in lakes():
    backfill_dag(_lake)
