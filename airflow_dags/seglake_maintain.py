"""Defines a DAG for each lake that maintains its tables on a schedule."""

import sys
from pathlib import Path

# Airflow has only the top of the dags folder on the path
sys.path.append(str(Path(__file__).parent))

from seglake_dags import maintain_dag
from seglake_lakes import lakes

for _lake in lakes():
    maintain_dag(_lake)
