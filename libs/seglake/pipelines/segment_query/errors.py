"""What a query without tables may end in."""

from seglake.errors import SeglakeError


class DataLossError(SeglakeError):
    """A query met damage or missing offsets, and was not told to go on without them."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"{reason}. With the option failOnDataLoss=false the query reads what is valid;"
            " `seglake ingest` also keeps the damaged bytes and says why each offset is missing"
        )
