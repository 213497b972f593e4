"""What can go wrong when the tables are asked."""


class LakeQueryError(Exception):
    """A query could not be answered; the message is one paragraph for a person."""


class WrongQueryError(LakeQueryError):
    """There is no such lake, or the query is not one that Spark understands."""


class LakeMissingError(WrongQueryError):
    """A folder holds none of our tables."""

    def __init__(self, *, lake: str, missing: str) -> None:
        self.lake = lake
        self.missing = missing
        super().__init__(
            f"{lake} is no lake: it has no table {missing}. Give the folder that"
            " `seglake ingest --lake` wrote to."
        )
