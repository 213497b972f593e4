"""Reads one of Iceberg's tables by its folder, with readers that know nothing of seglake."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
from pyiceberg.table import StaticTable

from support.servers.earlier_spark import earlier_spark
from support.servers.maven_jars import maven_jars

_EXTENSIONS = ("avro", "iceberg")
_RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
_SPARK_CALL = """
import json, sys
from pyspark.sql import SparkSession
jar, warehouse, *statements = sys.argv[1:]
builder = SparkSession.builder.master("local[2]")
for name, value in {
    "spark.jars": jar,
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": warehouse,
}.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
print(json.dumps([[list(row) for row in session.sql(each).collect()] for each in statements]))
"""

# Any: rows hold values of many types.
Rows = list[dict[str, Any]]


def in_order(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """Rows in an order that depends on nothing but them."""
    return sorted((dict(sorted(row.items())) for row in rows), key=repr)


def by_pyiceberg(table: str) -> Rows:
    """All columns of all rows."""
    return StaticTable.from_metadata(table).scan().to_arrow().to_pylist()


def planned_by_pyiceberg(table: str, wanted: str) -> list[str]:
    """The data files that have to be read for a condition."""
    tasks = StaticTable.from_metadata(table).scan(row_filter=wanted).plan_files()
    return sorted(task.file.file_path for task in tasks)


def by_duckdb(table: str, columns: str = "*") -> Rows:
    """Some columns of all rows."""
    with duckdb.connect() as connection:
        version = f"v{duckdb.__version__}"
        for name in _EXTENSIONS:
            packed = files(f"duckdb_extension_{name}") / "extensions" / version
            connection.execute(f"LOAD '{packed / f'{name}.duckdb_extension'}'")
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.execute(f"SELECT {columns} FROM iceberg_scan(?)", [table])
        return found.to_arrow_table().to_pylist()


def by_spark(folder: Path, warehouse: str, statements: Sequence[str]) -> list[list[list[Any]]]:
    """The rows of each statement, whose tables are named `lake.DATABASE.TABLE`.

    Runs a Spark that Iceberg has a runtime for, in a process of its own.
    """
    (jar,) = maven_jars("iceberg-1.12.0", [_RUNTIME], alone=True).glob("*.jar")
    done = subprocess.run(
        [sys.executable, "-c", _SPARK_CALL, str(jar), warehouse, *statements],
        cwd=folder,
        env=earlier_spark(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[list[list[Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found
