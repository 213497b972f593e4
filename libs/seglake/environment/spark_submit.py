"""Detects whether spark-submit started this process and its JVM."""

import os

# spark-submit sets this variable for the Python process that it starts
_PORT = "PYSPARK_GATEWAY_PORT"


def is_submitted() -> bool:
    """Return whether spark-submit started this process."""
    return _PORT in os.environ
