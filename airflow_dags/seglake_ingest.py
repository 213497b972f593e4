"""Defines a DAG for each lake that ingests new data on a schedule."""

import sys
from pathlib import Path

# Airflow has only the top of the dags folder on the path
sys.path.append(str(Path(__file__).parent))

from seglake_dags import ingest_dag
from seglake_lakes import lakes

for _lake in lakes():
    ingest_dag(_lake)
