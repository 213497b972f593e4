"""Rejects Spark Connect: its sessions have no RDDs, and no JVM that seglake can call.

Serverless Spark offers only Spark Connect. The check precedes the import of PySpark, since a
PySpark that is only a client of Spark Connect has no `SparkContext`.
"""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from seglake.environment.spark_home import spark_home
from seglake.environment.spark_submit import is_submitted, running_context
from seglake.errors import WrongCallError
from seglake.settings.settings import SparkSettings

_URL = "sc://"
_REMOTE = "spark.remote"
_API_MODE = "spark.api.mode"
_CONNECT = "connect"
# PySpark sets this variable when a session of Connect begins
_SESSION_MARK = "SPARK_CONNECT_MODE_ENABLED"
_CONTEXT = ("context.py", "core/context.py")  # the names in PySpark 3.5, and in 4.0 and newer
_SUBMIT = Path("bin", "spark-submit")  # this module starts the JVM
_VARIABLES = {"SPARK_REMOTE": "", "SPARK_API_MODE": _CONNECT}  # "" stands for any value


def refuse_connect(settings: SparkSettings, environment: Mapping[str, str] = os.environ) -> None:
    """Check that Spark is available by another way than Spark Connect.

    Args:
        settings: Spark's master and properties.
        environment: the variables of the process.

    Raises:
        WrongCallError: only Spark Connect is available; the message says why, and what works.
    """
    reason = _reason(settings, environment)
    if reason is not None:
        raise WrongCallError(
            "no command of seglake runs on Spark Connect or serverless Spark: they have no RDDs,"
            f" and {reason}. Use the engine local, of sql duckdb, and of register --print; or a"
            " Spark with RDDs. Spark Connect can read the tables, and from Spark 4.0 on segments by"
            " kafka_segments: docs/versions.md"
        )


def _reason(settings: SparkSettings, environment: Mapping[str, str]) -> str | None:
    """Return why only Spark Connect is available, as text; None if that is not the case."""
    properties = dict(settings.properties)
    if settings.master.startswith(_URL):
        return f"the master is {settings.master}"
    if _REMOTE in properties:
        return f"the property {_REMOTE} is {properties[_REMOTE]}"
    if properties.get(_API_MODE, "").lower() == _CONNECT:
        return f"the property {_API_MODE} is {properties[_API_MODE]}"
    if running_context() is not None:
        return None
    if _SESSION_MARK in environment:
        return "this process has a session of Spark Connect"
    for name, value in _VARIABLES.items():
        found = environment.get(name, "")
        if found and value in ("", found.lower()):
            return f"{name} is set to {found}"
    return None if is_submitted() else _client_only(environment)


def _client_only(environment: Mapping[str, str]) -> str | None:
    """Return a reason if PySpark is only a client of Spark Connect; None if it can start Spark."""
    package = find_spec("pyspark")
    folder = Path((package.origin if package is not None else None) or "").parent
    is_client = folder.is_dir() and not any((folder / place).exists() for place in _CONTEXT)
    named = environment.get("SPARK_HOME")
    homes = [spark_home(environment), *map(Path, filter(None, [named]))]
    if package is None or (not is_client and any((home / _SUBMIT).exists() for home in homes)):
        return None
    return f"this PySpark is only a client of Spark Connect: {folder}"
