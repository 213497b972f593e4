"""The layouts of metadata records that no disk has."""

import json
import struct
import uuid

import pytest

from seglake.segment_codec.formats.internal_topics.metadata_records import metadata_record
from support.encoder.internal import (
    compact,
    compact_array,
    int8,
    int32,
    int64,
    metadata_value,
    tagged,
)
from support.encoder.log_dir import topic_id_text

ID = uuid.uuid5(uuid.NAMESPACE_OID, "orders")


@pytest.mark.parametrize(
    ("value", "name", "fields"),
    [
        (metadata_value(1, 0, int32(3), int64(9), tagged()), "unregister_broker", [3, 9]),
        (metadata_value(7, 0, int32(3), int64(9), tagged()), "fence_broker", [3, 9]),
        (metadata_value(8, 0, int32(3), int64(9), tagged()), "unfence_broker", [3, 9]),
        (metadata_value(9, 0, ID.bytes, tagged()), "remove_topic", [topic_id_text(ID)]),
        (metadata_value(19, 0, ID.bytes, tagged()), "remove_access_control_entry", ["id"]),
        (metadata_value(21, 0, int8(2), tagged()), "zk_migration_state", [2]),
        (metadata_value(25, 0, tagged({0: compact("no")})), "abort_transaction", ["no"]),
        (metadata_value(25, 0, tagged()), "abort_transaction", []),
        (metadata_value(29, 0, int32(3), tagged()), "unregister_controller", [3]),
        (
            metadata_value(
                14,
                0,
                compact_array([compact("user") + compact(None) + tagged()]),
                compact("producer_byte_rate"),
                struct.pack(">d", 1024.5),
                b"\x00",
                tagged(),
            ),
            "client_quota",
            [
                [{"entityType": "user", "entityName": None}],
                *("producer_byte_rate", 1024.5, False),
            ],
        ),
        (
            metadata_value(
                18,
                0,
                ID.bytes,
                int8(2),
                compact("orders"),
                int8(3),
                compact("User:a"),
                compact("*"),
                int8(3),
                int8(3),
                tagged(),
            ),
            "access_control_entry",
            ["id", 2, "orders", 3, "User:a", "*", 3, 3],
        ),
    ],
)
def test_a_record_reads(value: bytes, name: str, fields: list[object]) -> None:
    record = metadata_record(value)
    assert (record.record_type, record.unread_reason, record.is_redacted) == (name, None, False)
    expected = [topic_id_text(ID) if value == "id" else value for value in fields]
    assert list(record.fields.values()) == expected
    json.dumps(record.fields, allow_nan=False)
