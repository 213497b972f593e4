"""Effect: says whether spark-submit started this process, and with it a JVM."""

import os

_PORT = "PYSPARK_GATEWAY_PORT"  # spark-submit sets it for the Python it starts


def is_submitted() -> bool:
    """Whether Spark was configured by spark-submit."""
    return _PORT in os.environ
