"""A topic keeps the isolation of its first run. Pure."""

from collections.abc import Iterable

from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.segment_ingest.errors import IsolationConflictError
from seglake.pipelines.settings.settings import Settings


def check_isolation(topics: Iterable[str], ledger: SourceLedger, settings: Settings) -> None:
    """A topic keeps the isolation of its first run: rows of both kinds cannot share a table."""
    asked = str(settings.read.isolation)
    for topic in topics:
        known = ledger.isolations.get(topic)
        if known is not None and known != asked:
            raise IsolationConflictError(topic=topic, known=known, asked=asked)
