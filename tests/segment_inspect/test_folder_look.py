"""The records of every partition folder of the disks, against what Kafka's consumer got.

Two scenarios differ, as they must: a lagging follower's disk lacks the end of the log (08), and
tiered segments are not on the disk any more (12). Brokers 0 and 1 of the diverged copy hold another
tail than the leader that the consumer read.
"""

from pathlib import Path
from typing import Any

import pytest

from support import broker_disks, oracle
from support.broker_disks import SCENARIOS
from support.looks import as_consumed


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_records_of_a_folder_are_those_of_a_consumer(scenario: str, json_look: Any) -> None:
    folders = 0
    for copy in broker_disks.copies(scenario):
        for facts in broker_disks.partitions(scenario, copy):
            expected = oracle.expected_records(scenario, copy, facts.topic, facts.partition)
            for place in broker_disks.log_dirs(scenario, copy):
                folder = place.path / f"{facts.topic}-{facts.partition}"
                if not folder.is_dir() or (copy == "diverged" and place.broker != "broker2"):
                    continue
                found = [
                    as_consumed(line)
                    for line in json_look(folder, records=True)
                    if line["type"] == "record"
                ]
                if scenario == "08_replicas":
                    expected = expected[: len(found)]
                elif scenario == "12_tiered":
                    expected = expected[-len(found) :]
                assert found == expected, folder
                folders += 1
    assert folders


@pytest.mark.parametrize(
    ("scenario", "copy"), [("05_compacted", "after"), ("07_delete_records", "stopped")]
)
def test_batches_of_a_log_dir_are_those_of_its_segments(
    scenario: str, copy: str, json_look: Any
) -> None:
    data = broker_disks.log_dir(scenario, copy)
    whole = [line for line in json_look(data) if line["type"] == "batch"]
    live = [Path(line["segment"]) for line in whole]
    single = [
        line
        for segment in dict.fromkeys(live)
        for line in json_look(data / segment)
        if line["type"] == "batch"
    ]
    assert single == whole
    assert len(whole) > 100


def test_unread_leftovers_are_told_with_their_reason(json_look: Any) -> None:
    folder = broker_disks.log_dir("07_delete_records", "live")
    skipped = [line for line in json_look(folder) if "skipped" in line]
    assert {line["skipped"] for line in skipped} == {"deleted"}
