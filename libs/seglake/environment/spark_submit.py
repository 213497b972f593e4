"""Detects the Spark that this process has: started by spark-submit, or running already."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

# spark-submit sets this variable for the Python process that it starts
_PORT = "PYSPARK_GATEWAY_PORT"


def is_submitted() -> bool:
    """Return whether spark-submit started this process."""
    return _PORT in os.environ


def running_context() -> "SparkContext | None":
    """Return the running Spark of this process, if any; Spark Connect does not count."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return getattr(context, "_active_spark_context", None)
