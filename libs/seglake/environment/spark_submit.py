"""Tells whether spark-submit started this process, and a JVM for it. Effect."""

import os

_PORT = "PYSPARK_GATEWAY_PORT"  # spark-submit sets it for the Python it starts


def is_submitted() -> bool:
    """Return whether spark-submit started this process."""
    return _PORT in os.environ
