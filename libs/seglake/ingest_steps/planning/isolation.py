"""Checks that each topic keeps the isolation level of its first run."""

from collections.abc import Iterable

from seglake.errors import WrongCallError
from seglake.log_tables.source_ledger import SourceLedger
from seglake.settings.settings import Settings


class IsolationConflictError(WrongCallError):
    """A topic of the lake was ingested with another isolation level; nothing was changed."""

    def __init__(self, *, topic: str, known: str, asked: str) -> None:
        """Compose the message.

        Args:
            topic: the topic.
            known: the isolation of its first run.
            asked: the isolation of this run.
        """
        super().__init__(
            f"topic {topic} is in this lake with isolation {known}, but this run asks for "
            f"{asked}: rows of both levels cannot share a table. Use --isolation {known}, leave "
            "the topic "
            "out with --topics, or ingest it into another lake"
        )


def check_isolation(topics: Iterable[str], ledger: SourceLedger, settings: Settings) -> None:
    """Raise IsolationConflictError unless each topic has the isolation level of its first run."""
    asked = str(settings.read.isolation)
    for topic in topics:
        known = ledger.isolations.get(topic)
        if known is not None and known != asked:
            raise IsolationConflictError(topic=topic, known=known, asked=asked)
