"""Errors of queries that read segments instead of tables."""

from seglake.errors import SeglakeError


class DataLossError(SeglakeError):
    """A query found damage or missing offsets, and `failOnDataLoss` is true."""

    def __init__(self, reason: str) -> None:
        """Make the message.

        Args:
            reason: the damage or the missing offsets, with their place.
        """
        super().__init__(
            f"{reason}. With the option failOnDataLoss=false the query reads what is valid;"
            " `seglake ingest` also keeps the damaged bytes and says why each offset is missing"
        )
