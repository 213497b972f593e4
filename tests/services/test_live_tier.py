"""Ingests beside a real broker that uploads its segments to a tier and deletes them locally."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.kafka.brokers import Broker, tiered_broker, wait_for_high_watermarks
from seglake.errors import ExitCode
from support.lakes import Row, ingested, read_table
from support.oracle import folded_value
from support.servers.kafka_tools import ConsumedRecord, consumed, steadily_written

_TOPIC, _PARTITIONS = "race", 2
_KIB_PER_SECOND = 2048  # about two uploads a second
_MISSING = [name for name in ("mvn", "java", "javac") if shutil.which(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(_MISSING), reason=f"needs {_MISSING}, to fetch and run brokers"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with tiered_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_fifty_runs_beside_uploads_and_deletions_lose_and_double_nothing(
    cluster: Broker, tmp_path: Path, isolation: str
) -> None:
    topic, lake = f"{_TOPIC}-{isolation}", tmp_path / "lake"
    sources = [cluster.log_dir, cluster.log_dir.parent / "tier"]
    strange, counts = [], []

    def run() -> None:
        summary = ingested(sources, lake, isolation=isolation, select={"topics": [topic]})
        if summary.exit_code is not ExitCode.DONE:
            strange.append(summary.to_text())
        counts.append(summary.records)

    with steadily_written(
        cluster.bootstrap, topic, tmp_path, partitions=_PARTITIONS, kib_per_second=_KIB_PER_SECOND
    ):
        while not [*sources[1].rglob("*.log")]:  # a folder without segments is no tier
            time.sleep(0.1)
        for _ in range(50):
            run()
    expected = consumed(cluster.bootstrap, topic, tmp_path, isolation=isolation)
    ends = {f"{topic} {partition}": rows[-1].offset + 1 for partition, rows in expected.items()}
    wait_for_high_watermarks(cluster.log_dir, ends)
    run()
    for partition in range(_PARTITIONS):
        found = _rows(lake, partition)
        assert [row.offset for row in found] == [row.offset for row in expected[partition]]
        assert found == expected[partition]
    assert read_table(lake, "gaps") == []
    assert read_table(lake, "quarantine") == []
    # What a run read while the broker wrote or deleted it is left to the next run, with 3.
    assert len(strange) < 10
    assert sum(count > 0 for count in counts) > 25
    assert len([*sources[1].rglob("*.log")]) > 20


def _rows(lake: Path, partition: int) -> list[ConsumedRecord]:
    """The lake's records of a partition, as a consumer gets them."""

    def offset(row: Row) -> int:
        return int(row["offset"])

    rows = [row for row in read_table(lake, "records") if row["partition"] == partition]
    return [
        ConsumedRecord(row["offset"], row["key"], folded_value(row["value"]), ())
        for row in sorted(rows, key=offset)
    ]
