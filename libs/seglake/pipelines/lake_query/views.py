"""The views over the tables, as SQL that runs wherever the tables have their own names."""

from collections.abc import Mapping

from seglake.pipelines.lake_query.current_views import (
    CURRENT_RECORDS,
    SUPERSEDED_RANGES,
    SUPERSEDED_RECORDS,
)
from seglake.pipelines.lake_query.group_views import group_lag
from seglake.pipelines.lake_query.internal_views import GROUP_OFFSETS, SETTLED_METADATA
from seglake.pipelines.lake_query.ledger_views import COMPLETENESS, CURRENT_GAPS, LAST_OFFSETS
from seglake.pipelines.lake_query.metadata_views import TOPIC_CONFIGS, partition_leaders
from seglake.pipelines.lake_query.observation_views import LAST_OBSERVATIONS
from seglake.pipelines.lake_query.record_views import (
    SETTLED_RECORDS,
    Dialect,
    latest_records,
    readable_records,
)
from seglake.pipelines.lake_query.salvage_views import CURRENT_SALVAGED_RECORDS

VIEWS = {
    "superseded_ranges": SUPERSEDED_RANGES,
    "current_records": CURRENT_RECORDS,
    "superseded_records": SUPERSEDED_RECORDS,
    "current_salvaged_records": CURRENT_SALVAGED_RECORDS,
    "last_observations": LAST_OBSERVATIONS,
    "last_offsets": LAST_OFFSETS,
    "current_gaps": CURRENT_GAPS,
    "completeness": COMPLETENESS,
    "settled_records": SETTLED_RECORDS,
    "readable_records": readable_records(Dialect.SPARK),
    "latest_records": latest_records(Dialect.SPARK),
    "group_offsets": GROUP_OFFSETS,
    "group_lag": group_lag(Dialect.SPARK),
    "settled_metadata": SETTLED_METADATA,
    "topic_configs": TOPIC_CONFIGS,
    "partition_leaders": partition_leaders(Dialect.SPARK),
}
"""Views in Spark's SQL; each reads only tables and views before it."""

DUCKDB_VIEWS = VIEWS | {
    "readable_records": readable_records(Dialect.DUCKDB),
    "latest_records": latest_records(Dialect.DUCKDB),
    "group_lag": group_lag(Dialect.DUCKDB),
    "partition_leaders": partition_leaders(Dialect.DUCKDB),
}
"""Views in DuckDB's SQL."""


def topic_view(topic: str) -> str:
    """Return the text of the view of a topic."""
    return f"SELECT * FROM current_records WHERE topic = '{escaped(topic)}'"


def escaped(text: str) -> str:
    """Return what stands between the apostrophes of a text in Spark's SQL."""
    return text.replace("\\", "\\\\").replace("'", "\\'")


def views_of(text: str, views: Mapping[str, str] = VIEWS) -> dict[str, str]:
    """Return the views that a text uses, directly or through views, in the order of creation."""
    wanted: dict[str, str] = {}
    for name, view in reversed([*views.items()]):
        if any(name in each for each in (text.casefold(), *wanted.values())):
            wanted[name] = view
    return dict(reversed(wanted.items()))
