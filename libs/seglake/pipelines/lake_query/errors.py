"""What can go wrong when the tables are asked."""

from seglake.errors import SeglakeError, WrongCallError


def first_line(error: Exception) -> str:
    """The message of an engine's error without what follows it: a plan, a trace of Java's."""
    return str(error).strip().splitlines()[0]


class QueryFailedError(SeglakeError):
    """A query could not be answered; the message is one paragraph for a person."""


class CatalogError(SeglakeError):
    """A catalog could not be reached or asked; the message is one line for a person."""


class NameTakenError(WrongCallError):
    """A catalog has the name of a table or view already, for something that is not of this lake."""

    def __init__(self, name: str, owner: str) -> None:
        """`owner` is what has it, as far as it is known."""
        super().__init__(
            f"{name} is there already and is not of this lake ({owner or 'it names none'}): choose"
            " another --database, or drop it first"
        )


class WrongQueryError(WrongCallError):
    """The query is not one that its engine understands, or it would write."""


class NotForDuckDBError(WrongCallError):
    """The statement may be right, but only Spark can answer it; the message says why."""
