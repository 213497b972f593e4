"""Lag of groups, configs and leaders of dead clusters, against what Kafka's own tools say."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seglake.task_engine.engine import Engine
from support.broker_disks import log_dir, partitions, unpacked
from support.internal_dumps import DumpedRecord, Fields, internal_partitions
from support.lakes import ingested
from support.oracle import read_records
from support.views import viewed

_LAG = (
    "SELECT group_id, topic, partition, current_offset, log_end_offset, lag FROM group_lag"
    " WHERE current_offset IS NOT NULL"
)


def _dumped(scenario: str, copy: str, topic: str) -> Iterator[DumpedRecord]:
    """The records of an internal topic that a transaction did not abort."""
    for found in internal_partitions(scenario, copy, topic):
        name = f"{topic}-{found.partition}.read_committed.jsonl.gz"
        path = unpacked(scenario) / "expected" / copy / name
        committed = {record.offset for record in read_records(path)} if path.exists() else None
        for record in found.records:
            if committed is None or record.offset in committed:
                yield record


def _lag_by_kafka(scenario: str, copy: str) -> set[tuple[object, ...]]:
    ends = {(of.topic, of.partition): of.high_watermark for of in partitions(scenario, copy)}
    offsets: dict[tuple[str, str, int], int] = {}
    for record in _dumped(scenario, copy, "__consumer_offsets"):
        if record.key is not None and record.key["type"] in ("0", "1"):
            key = record.key["data"]
            place = key["group"], key["topic"], key["partition"]
            if record.value is None:
                offsets.pop(place, None)
            else:
                offsets[place] = record.value["data"]["offset"]
    return {
        (*place, offset, ends[place[1:]], ends[place[1:]] - offset)
        for place, offset in offsets.items()
    }


@pytest.mark.parametrize("scenario", ["06_transactions", "11_kraft"])
def test_lag_is_what_kafkas_decoder_and_consumer_come_to(
    tmp_path: Path, engine: Engine, scenario: str
) -> None:
    lake = tmp_path / "lake"
    source = log_dir(scenario, "stopped")
    select, read = {"internal_topics": True}, {"upper_bound": "log_end"}
    ingested(source, lake, engine=engine, select=select, read=read)
    found = {tuple(row.values()) for row in viewed(lake, _LAG)}
    assert found == _lag_by_kafka(scenario, "stopped")
    assert len(found) > 4


def test_internal_topics_may_be_ingested_after_all_others(tmp_path: Path, engine: Engine) -> None:
    lake = tmp_path / "lake"
    source = log_dir("06_transactions", "stopped")
    ingested(source, lake, engine=engine)
    assert viewed(lake, _LAG) == []
    chosen = {"internal_topics": True, "topics": ["__consumer_offsets"]}
    ingested(source, lake, engine=engine, select=chosen)
    found = {tuple(row.values()) for row in viewed(lake, _LAG)}
    assert found == _lag_by_kafka("06_transactions", "stopped")


class _Metadata:
    """What the records of the metadata log come to, replayed one by one as a controller does."""

    def __init__(self, records: Iterator[DumpedRecord]) -> None:
        self.names: dict[str, str] = {}
        self.configs: dict[tuple[str, str], str] = {}
        self.partitions: dict[tuple[str, int], dict[str, object]] = {}
        for record in records:
            if record.value is not None and record.file_name.endswith(".log"):
                self._replay(record.value["type"], record.value["data"])

    def _replay(self, kind: str, data: Fields) -> None:
        if kind == "TOPIC_RECORD":
            self.names[data["topicId"]] = data["name"]
        elif kind == "CONFIG_RECORD" and data["resourceType"] == 2:
            self.configs[data["resourceName"], data["name"]] = data["value"]
        elif kind == "PARTITION_RECORD":
            self.partitions[data["topicId"], data["partitionId"]] = {"elr": [], **_known(data)}
        elif kind == "PARTITION_CHANGE_RECORD":
            self.partitions[data["topicId"], data["partitionId"]] |= _known(data)
        elif kind == "REMOVE_TOPIC_RECORD":
            gone = self.names.pop(data["topicId"])
            self.configs = {key: value for key, value in self.configs.items() if key[0] != gone}


def _known(data: Fields) -> Fields:
    names = {"eligibleLeaderReplicas": "elr", "leader": "leader", "isr": "isr"}
    return {ours: data[theirs] for theirs, ours in names.items() if data.get(theirs) is not None}


def test_configs_and_leaders_are_those_that_kafkas_decoder_comes_to(
    tmp_path: Path, engine: Engine
) -> None:
    lake = tmp_path / "lake"
    select, read = {"internal_topics": True}, {"upper_bound": "log_end"}
    ingested(log_dir("11_kraft", "stopped"), lake, engine=engine, select=select, read=read)
    expected = _Metadata(_dumped("11_kraft", "stopped", "__cluster_metadata"))
    shown = viewed(lake, "SELECT topic, name, value FROM topic_configs")
    assert {(row["topic"], row["name"]): row["value"] for row in shown} == expected.configs
    columns = "topic, topic_id, partition, coalesce(leader, -1) AS leader, isr, elr"
    shown = viewed(lake, f"SELECT {columns} FROM partition_leaders")
    assert {(row.pop("topic_id"), row.pop("partition")): row for row in shown} == {
        place: facts | {"topic": expected.names[place[0]]}
        for place, facts in expected.partitions.items()
        if place[0] in expected.names
    }
    last = viewed(lake, "SELECT last_leader, leader_epoch FROM partition_leaders")
    assert {tuple(row.values()) for row in last} == {(1, 1)}
