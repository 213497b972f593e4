"""Airflow finds here a DAG for each lake that keeps its tables small, on a schedule."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # Airflow has only the top of the dags folder there

from seglake_dags import maintain_dag
from seglake_lakes import lakes

for _lake in lakes():
    maintain_dag(_lake)
