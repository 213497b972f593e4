"""What can go wrong when the tables are asked."""

from seglake.errors import SeglakeError, WrongCallError


class QueryFailedError(SeglakeError):
    """A query could not be answered; the message is one paragraph for a person."""


class WrongQueryError(WrongCallError):
    """The query is not one that Spark understands, or it would write."""
