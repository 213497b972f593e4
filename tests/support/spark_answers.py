"""Asks a lake in the session of the tests, as `seglake sql --engine spark` does in its own."""

from pathlib import Path
from typing import TextIO

from pyspark.sql import SparkSession

from seglake.pipelines.lake_query.answers import OutputFormat
from seglake.pipelines.lake_query.spark_queries import SparkQueries


def query(
    session: SparkSession, lake: Path | str, text: str, *, as_json: bool, out: TextIO
) -> None:
    """Write the answer to one statement."""
    form = OutputFormat.JSON if as_json else OutputFormat.TABLE
    SparkQueries(session, str(lake)).write(text, form, out)
