"""Spark's properties for a Hive metastore. Connects to the metastore once, as a check."""

import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from seglake.errors import SeglakeError, WrongCallError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CATALOG = "spark.sql.catalogImplementation"
_URIS = "spark.hadoop.hive.metastore.uris"
_CONNECT_SECONDS = 10
_FORM = "name a metastore as thrift://HOST:PORT"


def properties_of(metastore: str) -> list[tuple[str, str]]:
    """Check that a metastore answers, and return Spark's properties for it.

    Without the check, Spark would try for minutes and end with a page of Java stack trace.

    Args:
        metastore: one URI, or several separated by commas; at least one must answer.

    Raises:
        WrongCallError: a URI has another form.
        SeglakeError: no metastore answers.
    """
    uris = [uri.strip() for uri in metastore.split(",")]
    places = [_place(uri) for uri in uris]
    reasons = [reason for reason in map(_refusal, places) if reason]
    if len(reasons) == len(places):
        raise SeglakeError(f"no metastore answers: {'; '.join(reasons)}")
    return [(_CATALOG, "hive"), (_URIS, ",".join(uris))]


def forget(session: "SparkSession") -> None:
    """Clear a metastore's properties, which the JVM would keep for later sessions."""
    java: Any = session.sparkContext._jvm  # py4j has no types
    for name in (_CATALOG, _URIS):
        java.java.lang.System.clearProperty(name)


def _place(uri: str) -> tuple[str, int]:
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise WrongCallError(f"{_FORM}, got {_shown(uri)}: {error}") from error
    if parts.scheme != "thrift" or not host or port is None:
        raise WrongCallError(f"{_FORM}, got {_shown(uri)}")
    return host, port


def _shown(uri: str) -> str:
    """Return a URI without the part that may have a password."""
    return uri.rpartition("@")[2]


def _refusal(place: tuple[str, int]) -> str:
    """Return why a metastore's host and port are unreachable; empty if they are reachable."""
    try:
        socket.create_connection(place, timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        return f"{place[0]}:{place[1]}: {error.strerror or error}"
    return ""
