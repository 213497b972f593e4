"""Errors of queries over the tables."""

import re

from seglake.errors import SeglakeError, WrongCallError

# Messages of errors after an engine has read bytes as text.
_ABOUT_BYTES = re.compile(
    "decode error behavior|Failure in decode|STRING -> BLOB|MALFORMED_CHAR|codec can't decode"
    "|argument types '[^']*BLOB"
)
_BYTES_HINT = "; try_validate_utf8(...) returns bytes as text, or null if they are not UTF-8"


def with_hint(reason: str) -> str:
    """Return an engine's message, with a hint if the engine read bytes as text."""
    return reason + (_BYTES_HINT if _ABOUT_BYTES.search(reason) else "")


def first_line(error: Exception) -> str:
    """Return an engine's error message without the plan or stack trace after it."""
    return str(error).strip().splitlines()[0]


class QueryFailedError(SeglakeError):
    """A query failed; the message is one paragraph for a person."""


def query_failed(reason: str) -> QueryFailedError:
    """Return the error for a statement that an engine began but could not finish."""
    return QueryFailedError(f"the query failed: {with_hint(reason)}")


class CatalogError(SeglakeError):
    """Error for an unreachable catalog or a rejected request; the message is one line."""


class NameInUseError(WrongCallError):
    """Error for a name in a catalog that the lake needs, but something else uses."""

    def __init__(self, name: str, owner: str) -> None:
        """Make the message.

        Args:
            name: the name with its database.
            owner: the entry's owner; empty if unknown.
        """
        super().__init__(
            f"{name} exists already and does not belong to this lake "
            f"({owner or 'it names none'}): choose"
            " another --database, or drop it first"
        )


class WrongQueryError(WrongCallError):
    """The engine does not understand the query, or the query would write."""


def ambiguous(what: str) -> WrongQueryError:
    """Return the error for SQL that DuckDB and Spark answer differently."""
    return WrongQueryError(
        f"{what} is not the same in DuckDB and in Spark: choose one with --engine duckdb or"
        " --engine spark"
    )
