"""Spark 4.0 has no filters for data sources: what is imported there must do without them."""

import subprocess
import sys

_IMPORTED = """
import pyspark.sql.datasource as names
for name in ("Filter", "EqualTo", "EqualNullSafe", "GreaterThan", "LessThan", "In"):
    delattr(names, name)
from pyspark_kafka_segments import DefaultSource
print(DefaultSource.name(), len(DefaultSource({}).schema()))
"""


def test_the_source_is_found_by_a_spark_without_filters() -> None:
    command = [sys.executable, "-c", _IMPORTED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("kafka_segments "), done.stderr
