"""The properties by which Spark reaches a Hive metastore. Effect: connects to it, once."""

import socket
from urllib.parse import urlsplit

from seglake.errors import SeglakeError, WrongCallError

_CONNECT_SECONDS = 10
_FORM = "a metastore is named as thrift://HOST:PORT"


def properties_of(metastore: str) -> list[tuple[str, str]]:
    """Spark's properties for a metastore that answers.

    Spark itself would try for minutes, and end with a page of Java.

    Args:
        metastore: one URI, or several with commas between them, of which one is enough.

    Raises:
        WrongCallError: a URI is not of that form.
        SeglakeError: none of them answers.
    """
    places = [_place(uri) for uri in metastore.split(",")]
    reasons = [reason for reason in map(_refusal, places) if reason]
    if len(reasons) == len(places):
        raise SeglakeError(f"no metastore answers: {'; '.join(reasons)}")
    return [
        ("spark.sql.catalogImplementation", "hive"),
        ("spark.hadoop.hive.metastore.uris", metastore),
    ]


def _place(uri: str) -> tuple[str, int]:
    try:
        parts = urlsplit(uri.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise WrongCallError(f"{_FORM}, got {uri}: {error}") from error
    if parts.scheme != "thrift" or not host or port is None:
        raise WrongCallError(f"{_FORM}, got {uri}")
    return host, port


def _refusal(place: tuple[str, int]) -> str:
    """Why nobody answers at a place, empty if somebody does."""
    try:
        socket.create_connection(place, timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        return f"{place[0]}:{place[1]}: {error.strerror or error}"
    return ""
