"""Differences between Spark's releases; no other module asks which release runs.

PySpark is imported only when a function needs it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame

OLDEST_SPARK = (3, 5)
"""The oldest release of Spark that seglake runs on."""

_SPARK_4 = (4, 0)


@dataclass(frozen=True)
class SparkFeatures:
    """Features of a Spark release that seglake uses and older releases lack.

    Attributes:
        has_python_data_sources: DataFrames can be read from sources in Python (`kafka_segments`).
        has_arrow_answers: a DataFrame can be collected as an Arrow table.
        has_error_conditions: an error's class is called its condition.
        logs_failing_queries: PySpark prints a failing query as JSON, besides raising an error.
    """

    has_python_data_sources: bool
    has_arrow_answers: bool
    has_error_conditions: bool
    logs_failing_queries: bool


def release_of(version: str) -> tuple[int, int]:
    """Return the major and minor version of a version text, even a vendor's (`3.5.1-amzn-0`)."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def features_of(version: str) -> SparkFeatures:
    """Return the features of a version of Spark."""
    is_4 = release_of(version) >= _SPARK_4
    return SparkFeatures(
        has_python_data_sources=is_4,
        has_arrow_answers=is_4,
        has_error_conditions=is_4,
        logs_failing_queries=is_4,
    )


def running_features() -> SparkFeatures:
    """Return the features of this process's PySpark."""
    import pyspark

    return features_of(pyspark.__version__)


def arrow_table(frame: "DataFrame") -> "pa.Table":
    """Collect a DataFrame as an Arrow table, in the driver's memory."""
    if running_features().has_arrow_answers:
        return frame.toArrow()
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    batches = frame._collect_as_arrow()  # type: ignore[operator]  # of a mixin; toPandas calls it too
    return pa.Table.from_batches(batches, to_arrow_schema(frame.schema))


def condition_of(error: "PySparkException") -> str | None:
    """Return Spark's name for an error, such as `TABLE_OR_VIEW_NOT_FOUND`."""
    has_conditions = running_features().has_error_conditions
    return error.getCondition() if has_conditions else error.getErrorClass()
