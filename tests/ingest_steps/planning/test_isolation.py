"""A topic keeps the isolation of its first run."""

import pytest

from seglake.ingest_steps.planning.isolation import (
    IsolationConflictError,
    check_isolation,
)
from seglake.log_tables.source_ledger import SourceLedger
from seglake.settings.settings import Settings

_LEDGER = SourceLedger(
    {
        "topic": topic,
        "partition": 0,
        "topic_id": None,
        "generation": 1,
        "kind": "ingest",
        "isolation": isolation,
    }
    for topic, isolation in (("orders", "read_committed"), ("payments", "read_uncommitted"))
)


def _settings(isolation: str) -> Settings:
    return Settings.from_mappings([("test", {"read": {"isolation": isolation}})])


def test_the_isolation_of_before_and_any_of_a_new_topic_are_accepted() -> None:
    check_isolation(["orders", "new"], _LEDGER, _settings("read_committed"))
    check_isolation(["payments", "new"], _LEDGER, _settings("read_uncommitted"))


def test_another_isolation_is_refused_with_both_of_them() -> None:
    said = "topic orders .* read_committed, .* read_uncommitted:"
    with pytest.raises(IsolationConflictError, match=said):
        check_isolation(["new", "payments", "orders"], _LEDGER, _settings("read_uncommitted"))
