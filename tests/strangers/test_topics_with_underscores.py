"""Topics whose names begin as those of Kafka itself: users' all the same, but for five."""

import json
from pathlib import Path

import pytest

from seglake.task_engine.engine import Engine
from support.lakes import ingested, read_table
from support.made_logs import make_log_dir

_KAFKAS = [
    "__cluster_metadata",
    "__consumer_offsets",
    "__remote_log_metadata",
    "__share_group_state",
    "__transaction_state",
]
_USERS = [
    "..a",
    "2024-01-05",
    "__CruiseControlMetrics",
    "__confluent.support.metrics",
    "__consumer_offsets_backup",
    "__debezium-heartbeat.server1",
    "__strimzi_store_topic",
    "__transaction_state-1",
    "_schemas",
    "orders",
]


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "d", {(topic, 0): [0, 2] for topic in (*_KAFKAS, *_USERS)})


def _topics(lake: Path) -> list[str]:
    return sorted({row["topic"] for row in read_table(lake, "records")})


@pytest.mark.parametrize("dry_run", [False, True])
def test_only_kafka_s_own_topics_are_left_out_and_named(
    log_dir: Path, lake: Path, engine: Engine, *, dry_run: bool
) -> None:
    summary = ingested(log_dir, lake, engine=engine, dry_run=dry_run)
    assert (summary.exit_code, _topics(lake)) == (0, [] if dry_run else _USERS)
    named = [line for line in summary.to_text().splitlines() if line.startswith("not selected:")]
    expected = (
        f"not selected: {', '.join(_KAFKAS)} (internal topics; --internal-topics ingests them)"
    )
    assert named == [expected]
    assert json.loads(summary.to_json())["internal_topics_left_out"] == _KAFKAS


def test_the_option_takes_them_and_a_selection_by_name_does_not_miss_them(
    log_dir: Path, lake: Path
) -> None:
    chosen = ingested(log_dir, lake, select={"topics": ["orders", "__str*"]})
    assert (chosen.internal_topics_left_out, chosen.notes) == ([], [])
    assert _topics(lake) == ["__strimzi_store_topic", "orders"]
    rest = ingested(log_dir, lake, select={"internal_topics": True})
    assert rest.internal_topics_left_out == []
    assert _topics(lake) == sorted([*_KAFKAS, *_USERS])
