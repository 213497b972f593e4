"""What can go wrong when the tables are asked."""

from seglake.errors import SeglakeError, WrongCallError


class QueryFailedError(SeglakeError):
    """A query could not be answered; the message is one paragraph for a person."""


class CatalogError(SeglakeError):
    """A catalog could not be reached or asked; the message is one line for a person."""


class WrongQueryError(WrongCallError):
    """The query is not one that its engine understands, or it would write."""


class NotForDuckDBError(WrongCallError):
    """The statement may be right, but only Spark can answer it; the message says why."""
