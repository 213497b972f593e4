"""To the log's end: where the high watermark on a disk lags, Kafka's consumer is the oracle still.

After `kill -9` the consumer read what the broker's recovery had left of the log: that is the least
that must come out, and what lies behind it may be right too.
"""

from pathlib import Path

import pytest

from support import broker_disks
from support.accounts import imbalances_of
from support.lakes import ingested, oracle_record, read_table
from support.oracle import OracleRecord, expected_records


def _taken(tmp_path: Path, scenario: str, copy: str, topic: str) -> dict[int, list[OracleRecord]]:
    lake = tmp_path / "lake"
    source = broker_disks.unpacked(scenario) / "disks" / copy
    ingested(source, lake, read={"upper_bound": "log_end"}, select={"topics": [topic]})
    assert imbalances_of(lake) == []
    found: dict[int, list[OracleRecord]] = {}
    for row in sorted(read_table(lake, "records"), key=lambda row: row["offset"]):
        found.setdefault(row["partition"], []).append(oracle_record(row))
    return found


@pytest.mark.parametrize(("copy", "partition"), [("lagging", 0), ("follower_down", 1)])
def test_lagging_high_watermark_hides_nothing(tmp_path: Path, copy: str, partition: int) -> None:
    expected = expected_records("08_replicas", copy, "rep", partition)
    assert _taken(tmp_path, "08_replicas", copy, "rep")[partition] == expected


@pytest.mark.parametrize("topic", ["cr-plain", "cr-pre"])
def test_what_a_broker_saves_of_a_killed_disk_is_the_least(tmp_path: Path, topic: str) -> None:
    expected = expected_records("10_crash", "killed", topic, 0)
    found = _taken(tmp_path, "10_crash", "killed", topic)[0]
    assert found[: len(expected)] == expected
