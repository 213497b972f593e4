"""Bad calls and a failing world; bad bytes never come through here."""

from seglake.errors import WrongCallError


class IsolationConflictError(WrongCallError):
    """A topic of the lake was taken with another isolation; nothing was touched."""

    def __init__(self, *, topic: str, known: str, asked: str) -> None:
        self.topic = topic
        self.known = known
        self.asked = asked
        super().__init__(
            f"topic {topic} is in this lake with isolation {known}, and this run asks for {asked}: "
            "rows of both kinds cannot share a table. Use the isolation of before, leave the topic "
            "out with --topics, or take it into another lake"
        )
