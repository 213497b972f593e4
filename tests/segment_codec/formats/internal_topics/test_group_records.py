"""Records of `__consumer_offsets` and `__transaction_state` of versions that no disk has."""

import uuid
from typing import Any

import pytest

from seglake.segment_codec.formats.internal_topics.coordinator_records import group_record
from support.encoder.internal import (
    array,
    compact,
    compact_array,
    int16,
    int32,
    int64,
    long_bytes,
    offset_key,
    string,
    tagged,
)
from support.encoder.log_dir import topic_id_text

TOPIC_ID = uuid.uuid5(uuid.NAMESPACE_OID, "orders")


@pytest.mark.parametrize(
    ("version", "value", "expected"),
    [
        (
            0,
            int64(5) + string("m") + int64(1000),
            {"offset": 5, "metadata": "m", "commitTimestamp": 1000},
        ),
        (
            1,
            int64(5) + string("m") + int64(1000) + int64(2000),
            {"offset": 5, "metadata": "m", "commitTimestamp": 1000, "expireTimestamp": 2000},
        ),
        (
            2,
            int64(5) + string("") + int64(1000),
            {"offset": 5, "metadata": "", "commitTimestamp": 1000},
        ),
        (
            3,
            int64(5) + int32(4) + string("m") + int64(1000),
            {"offset": 5, "leaderEpoch": 4, "metadata": "m", "commitTimestamp": 1000},
        ),
        (
            4,
            int64(5) + int32(4) + compact("m") + int64(1000) + tagged({0: TOPIC_ID.bytes}),
            {
                "offset": 5,
                "leaderEpoch": 4,
                "metadata": "m",
                "commitTimestamp": 1000,
                "topicId": topic_id_text(TOPIC_ID),
            },
        ),
        (
            4,
            int64(5) + int32(4) + compact("m") + int64(1000) + tagged({9: b"later"}),
            {"offset": 5, "leaderEpoch": 4, "metadata": "m", "commitTimestamp": 1000},
        ),
    ],
)
@pytest.mark.parametrize("key_type", [0, 1])
def test_an_offset_commit_reads_in_every_version(
    key_type: int, version: int, value: bytes, expected: dict[str, object]
) -> None:
    key = offset_key("g", "orders", 7, key_type)
    record = group_record(key, int16(version) + value)
    assert (record.kind, record.key_type, record.value_version) == (
        "offset_commit",
        key_type,
        version,
    )
    assert record.key_fields == {"group": "g", "topic": "orders", "partition": 7}
    assert record.value_fields == expected
    assert record.unread_reason is None


@pytest.mark.parametrize("version", range(5))
def test_a_classic_group_reads_in_every_version(version: int) -> None:
    text = compact if version == 4 else string
    blob = compact if version == 4 else long_bytes
    items = compact_array if version == 4 else array
    end = tagged() if version == 4 else b""
    member = (
        text("m-1")
        + (text(None) if version >= 3 else b"")
        + text("client")
        + text("/host")
        + (int32(300) if version >= 1 else b"")
        + int32(45)
        + blob(b"\x00\x01")
        + blob(b"")
        + end
    )
    state_time = int64(99) if version >= 2 else b""
    value = text("consumer") + int32(3) + text("range") + text(None) + state_time
    record = group_record(
        int16(2) + string("g"), int16(version) + value + items([member, member]) + end
    )
    assert (record.kind, record.unread_reason) == ("classic_group", None)
    fields: dict[str, Any] = dict(record.value_fields)
    one, other = fields.pop("members")
    assert one == other
    assert one["subscription"] == "AAE="
    assert set(one) == {
        *("memberId", "clientId", "clientHost", "sessionTimeout", "subscription", "assignment"),
        *(["rebalanceTimeout"] if version >= 1 else []),
        *(["groupInstanceId"] if version >= 3 else []),
    }
    assert fields == {
        "protocolType": "consumer",
        "generation": 3,
        "protocol": "range",
        "leader": None,
        **({"currentStateTimestamp": 99} if version >= 2 else {}),
    }


@pytest.mark.parametrize(
    ("key_type", "kind", "parts"),
    [
        (4, "consumer_group_partition_metadata", ["g"]),
        (16, "consumer_group_regular_expression", ["g", "a.*"]),
        (17, "streams_group", ["g"]),
        (19, "streams_group_member", ["g", "m"]),
        (20, "streams_group_target_assignment", ["g"]),
        (21, "streams_group_target_assignment_member", ["g", "m"]),
        (22, "streams_group_current_assignment", ["g", "m"]),
        (23, "streams_group_topology", ["g"]),
    ],
)
def test_a_kind_whose_values_are_not_read_is_named_with_its_group(
    key_type: int, kind: str, parts: list[str]
) -> None:
    key = int16(key_type) + b"".join(map(string, parts))
    record = group_record(key, b"\x00\x00\x07")
    assert (record.kind, list(record.key_fields.values())) == (kind, parts)
    assert record.unread_reason == "values of this kind are not parsed"
    assert group_record(key, None).unread_reason is None
