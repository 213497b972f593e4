"""Differences between Spark's releases; no other module asks which release runs.

PySpark is imported only when a function needs it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame

OLDEST_SPARK = (3, 5)
"""The oldest release of Spark that seglake runs on."""

# Features by the first release of Spark that has them.
PYTHON_DATA_SOURCES = (4, 0)  # DataFrames can be read from sources in Python (`kafka_segments`)
LOGGED_FAILURES = (4, 0)  # PySpark prints a failing query as JSON, besides raising an error
_ARROW_ANSWERS = (4, 0)  # a DataFrame can be collected as an Arrow table
_ERROR_CONDITIONS = (4, 0)  # an error's class became its condition


def release_of(version: str) -> tuple[int, int]:
    """Return the major and minor version of a version text, even a vendor's (`3.5.1-amzn-0`)."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def spark_has(feature: tuple[int, int]) -> bool:
    """Return whether this process's PySpark has a feature, given by its first release."""
    import pyspark

    return release_of(pyspark.__version__) >= feature


def arrow_table(frame: "DataFrame") -> "pa.Table":
    """Collect a DataFrame as an Arrow table, in the driver's memory."""
    if spark_has(_ARROW_ANSWERS):
        return frame.toArrow()
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    batches = frame._collect_as_arrow()  # type: ignore[operator]  # of a mixin; toPandas calls it too
    return pa.Table.from_batches(batches, to_arrow_schema(frame.schema))


def condition_of(error: "PySparkException") -> str | None:
    """Return Spark's name for an error, such as `TABLE_OR_VIEW_NOT_FOUND`."""
    return error.getCondition() if spark_has(_ERROR_CONDITIONS) else error.getErrorClass()
