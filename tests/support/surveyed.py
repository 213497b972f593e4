"""The bounds of the logs in a log dir, without a lake and without a run."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lake.local_storage import LocalStorage
from pipelines.segment_ingest.planning.coverage import Coverage
from pipelines.segment_ingest.settings import Settings
from pipelines.segment_ingest.sources.discover import discover
from pipelines.segment_ingest.surveying.bounds import LogBounds, bounds_of
from pipelines.segment_ingest.surveying.survey import survey_segments
from pipelines.segment_ingest.surveying.survey_plan import earlier_run, survey_groups


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
    (replica,) = discover([str(source)], LocalStorage(), settings).replicas
    coverage = Coverage(ledger)
    groups = survey_groups([replica], coverage, settings, LocalStorage())
    surveys = [survey for group in groups for survey in survey_segments(group)]
    return bounds_of(replica, surveys, settings, earlier_run(replica, coverage, settings))
