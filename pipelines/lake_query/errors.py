"""What can go wrong when the tables are asked."""


class LakeQueryError(Exception):
    """A query could not be answered; the message is one paragraph for a person."""


class WrongQueryError(LakeQueryError):
    """The query is not one that Spark understands, or it would write."""
