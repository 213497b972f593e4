"""Every record of the internal topics of the disks, against what Kafka's own decoders printed."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from seglake.segment_codec.formats.internal_topics.coordinator_records import (
    CoordinatorRecord,
    group_record,
    transaction_record,
)
from seglake.segment_codec.formats.internal_topics.message_layout import Json
from seglake.segment_codec.formats.internal_topics.metadata_records import (
    MetadataRecord,
    metadata_record,
)
from seglake.segment_codec.formats.record import Record
from support.internal_dumps import DumpedPartition, DumpedRecord, Fields, internal_partitions
from support.walks import records_of

OFFSETS, TRANSACTIONS, METADATA = "__consumer_offsets", "__transaction_state", "__cluster_metadata"
DUMPED = [
    ("05_compacted", "before", TRANSACTIONS, 26),
    ("05_compacted", "after", TRANSACTIONS, 35),
    ("06_transactions", "live", OFFSETS, 112),
    ("06_transactions", "stopped", OFFSETS, 112),
    ("06_transactions", "live", TRANSACTIONS, 95),
    ("06_transactions", "stopped", TRANSACTIONS, 95),
    ("10_crash", "killed", TRANSACTIONS, 5),
    ("10_crash", "recovered", TRANSACTIONS, 5),
    ("11_kraft", "stopped", OFFSETS, 119),
    ("11_kraft", "stopped", TRANSACTIONS, 29),
    ("11_kraft", "stopped", METADATA, 795),
    ("12_tiered", "stopped", TRANSACTIONS, 25),
    ("12_tiered", "stopped", METADATA, 123),
    ("13_legacy_in_4x", "before", METADATA, 108),
    ("13_legacy_in_4x", "after", METADATA, 140),
]
# Kafka's tool takes these bytes apart too; here they are bytes.
EMBEDDED = ("subscription", "assignment")


class Pair(NamedTuple):
    """A record as the disk has it, and as it was dumped."""

    record: Record
    dumped: DumpedRecord


def pairs(partition: DumpedPartition) -> Iterator[Pair]:
    """Each dumped record with the one on the disk; none may be left over on either side."""
    names = {dumped.file_name: None for dumped in partition.records}
    for name in names:
        dumped = [record for record in partition.records if record.file_name == name]
        records = records_of((partition.folder / name).read_bytes())
        assert [record.offset for record in records] == [record.offset for record in dumped]
        yield from map(Pair, records, dumped)


def all_pairs(scenario: str, copy: str, topic: str) -> list[Pair]:
    partitions = internal_partitions(scenario, copy, topic)
    return [pair for partition in partitions for pair in pairs(partition)]


@pytest.mark.parametrize(("scenario", "copy", "topic", "count"), DUMPED)
def test_every_record_reads_as_kafka_reads_it(
    scenario: str, copy: str, topic: str, count: int
) -> None:
    found = all_pairs(scenario, copy, topic)
    assert len(found) == count
    for record, dumped in found:
        if topic == METADATA:
            assert_same_metadata(metadata_record(record.value), dumped)
        elif topic == OFFSETS:
            assert_same(group_record(record.key, record.value), dumped)
        else:
            assert_same(transaction_record(record.key, record.value), dumped)


def assert_same(found: CoordinatorRecord, dumped: DumpedRecord) -> None:
    assert found.unread_reason is None
    assert dumped.key is not None
    assert str(found.key_type) == dumped.key["type"]
    assert found.key_fields == renamed(dumped.key["data"])
    assert found.is_tombstone == (dumped.value is None)
    if dumped.value is None:
        assert found.value_fields == {}
        return
    expected = dumped.value["data"]
    if "version" in dumped.value:
        assert str(found.value_version) == dumped.value["version"]
        assert bare(found.value_fields) == bare(expected)
        return
    fields = dict(found.value_fields)
    assert partitions_of(fields.pop("transactionPartitions")) == expected.pop("partitions")
    assert fields.pop("transactionStartTimestampMs")
    assert fields == expected


def assert_same_metadata(found: MetadataRecord, dumped: DumpedRecord) -> None:
    assert dumped.value is not None
    assert (found.unread_reason, found.is_redacted) == (None, False)
    assert f"{found.record_type}_record".upper() == dumped.value["type"]
    assert found.type_version == dumped.value["version"]
    assert bare(found.fields) == bare(dumped.value["data"])


def renamed(key: Fields) -> Fields:
    """Kafka has two names for the group in a key."""
    return {"group" if name == "groupId" else name: value for name, value in key.items()}


def bare(fields: object) -> object:
    """Without the bytes that the tool takes apart."""
    if isinstance(fields, list):
        return [bare(field) for field in fields]
    if not isinstance(fields, dict):
        return fields
    return {name: bare(value) for name, value in fields.items() if name not in EMBEDDED}


def partitions_of(topics: Json) -> set[tuple[Json, Json]]:
    assert isinstance(topics, list | None)
    return {
        (topic["topic"], number)
        for topic in topics or []
        if isinstance(topic, dict) and isinstance(topic["partitionIds"], list)
        for number in topic["partitionIds"]
    }


def test_the_disks_have_old_and_new_kinds_of_groups_and_every_common_kind_of_metadata() -> None:
    groups = Counter(
        group_record(pair.record.key, pair.record.value).kind
        for pair in all_pairs("11_kraft", "stopped", OFFSETS)
    )
    assert set(groups) == {
        "offset_commit",
        "classic_group",
        "consumer_group",
        "consumer_group_member",
        "consumer_group_target_assignment",
        "consumer_group_target_assignment_member",
        "consumer_group_current_assignment",
        "share_group",
        "share_group_member",
        "share_group_target_assignment",
        "share_group_target_assignment_member",
        "share_group_current_assignment",
        "share_group_state_partitions",
    }
    metadata = Counter(
        metadata_record(pair.record.value).record_type
        for pair in all_pairs("11_kraft", "stopped", METADATA)
    )
    assert len(metadata) == 14
    assert metadata["topic"] == 125
