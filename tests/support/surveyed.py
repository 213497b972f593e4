"""The bounds of the logs in a log dir, without a lake and without a run."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from seglake.ingest_steps.planning.survey_plan import survey_requests
from seglake.kafka_log.log_bounds import LogBounds, bounds_of
from seglake.log_dirs.discovery import discover
from seglake.log_dirs.header_scan import survey_segments
from seglake.log_tables.source_ledger import SourceLedger
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage


def log_bounds(
    source: Path,
    *,
    isolation: str = "read_committed",
    ledger: Iterable[Mapping[str, Any]] = (),
    limits: Mapping[str, object] | None = None,
    read: Mapping[str, object] | None = None,
) -> LogBounds:
    """The bounds of the one partition of a log dir.

    Args:
        ledger: rows of `checkpoints`.
    """
    sections = {"limits": limits or {}, "read": {"isolation": isolation, **(read or {})}}
    settings = Settings.from_mappings([("test", sections)])
    (replica,) = discover(
        [str(source)], LocalStorage(), selects_topic=settings.select.selects_topic
    ).replicas
    log = SourceLedger(ledger).of(replica.key)
    requests = survey_requests(replica, log, settings, LocalStorage())
    surveys = survey_segments(tuple(requests))
    return bounds_of(replica, surveys, settings.read_policy)
