"""Records of internal topics as columns of the decoded tables."""

import json

from seglake.log_tables.internal_columns import (
    INTERPRETERS,
    cluster_metadata,
    consumer_offset,
    remote_log_metadata,
    transaction_state,
)
from support.encoder.internal import (
    config_value,
    int16,
    int64,
    metadata_value,
    offset_key,
    offset_value,
    string,
    topic_value,
)
from support.made_logs import FIRST_MS, TOPIC_IDS

_TOPIC, _BROKER = 2, 4  # kinds of resources


def test_an_offset_commit_has_its_columns_and_no_bytes() -> None:
    found = consumer_offset(offset_key("g", "orders", 3), offset_value(17, FIRST_MS, "note"))
    expected = {
        "group_id": "g",
        "topic": "orders",
        "partition": 3,
        "offset": 17,
        "metadata": "note",
        "commit_timestamp_ms": FIRST_MS,
        "leader_epoch": None,  # -1 in the bytes
        "is_tombstone": False,
        "key": None,
        "value": None,
    }
    assert {name: found.values[name] for name in expected} == expected
    assert not found.is_unread


def test_a_tombstone_says_whose_offset_is_gone() -> None:
    found = consumer_offset(offset_key("g", "orders", 3), None)
    assert (found.values["is_tombstone"], found.values["partition"]) == (True, 3)
    assert found.values["offset"] is None


def test_what_cannot_be_read_comes_with_its_bytes() -> None:
    for interpret in (consumer_offset, transaction_state):
        found = interpret(int16(99) + b"?", b"\x00\x7f")
        assert found.is_unread
        assert (found.values["key"], found.values["value"]) == (int16(99) + b"?", b"\x00\x7f")
        assert found.values["unread_reason"]


def test_a_transaction_without_a_value_has_its_id_and_no_state() -> None:
    found = transaction_state(int16(0) + string("tx"), None)
    assert (found.values["transactional_id"], found.values["state"]) == ("tx", None)
    assert (found.values["is_tombstone"], found.values["partitions"]) == (True, None)


def test_metadata_has_the_name_of_a_topic_and_all_that_was_read() -> None:
    found = cluster_metadata(None, topic_value("orders", TOPIC_IDS["orders"]))
    assert (found.values["record_type"], found.values["topic"]) == ("topic", "orders")
    assert json.loads(str(found.values["detail"]))["name"] == "orders"
    assert not found.may_hold_secret


def test_only_the_config_of_a_topic_names_a_topic() -> None:
    topic = cluster_metadata(None, config_value(_TOPIC, "orders", "retention.ms", "1000")).values
    assert (topic["resource_type"], topic["topic"], topic["value"]) == ("topic", "orders", "1000")
    broker = cluster_metadata(None, config_value(_BROKER, "1", "log.cleaner.threads", "2")).values
    assert (broker["resource_type"], broker["resource_name"], broker["topic"]) == (
        "broker",
        "1",
        None,
    )


def test_metadata_that_cannot_be_read_never_comes_with_its_bytes() -> None:
    found = cluster_metadata(None, metadata_value(99, 0, int64(7)))
    assert (found.is_unread, found.may_hold_secret) == (True, True)
    assert {"key", "value"}.isdisjoint(found.values)
    secret = cluster_metadata(None, config_value(_BROKER, "1", "ssl.key.password", "hunter2"))
    assert (secret.is_redacted, secret.values["value"]) == (True, None)
    assert "hunter2" not in str(secret.values)


def test_each_internal_topic_has_a_table_and_what_makes_its_columns() -> None:
    made = {topic: (table.name, interpret) for topic, (table, interpret) in INTERPRETERS.items()}
    assert made == {
        "__consumer_offsets": ("consumer_offsets", consumer_offset),
        "__transaction_state": ("transaction_state", transaction_state),
        "__cluster_metadata": ("cluster_metadata", cluster_metadata),
        "__remote_log_metadata": ("remote_log_metadata", remote_log_metadata),
    }


def test_remote_metadata_that_cannot_be_read_is_kept_as_it_is() -> None:
    found = remote_log_metadata(b"k", b"\x01\x09\x00")
    assert (found.is_unread, found.values["event"]) == (True, "unknown")
    assert (found.values["key"], found.values["value"]) == (b"k", b"\x01\x09\x00")
    assert found.values["unread_reason"] == "type 9 is unknown"


def test_a_tombstone_of_remote_metadata_is_no_event() -> None:
    found = remote_log_metadata(b"k", None)
    assert (found.is_unread, found.values["event"]) == (False, None)
    assert (found.values["is_tombstone"], found.values["unread_reason"]) == (True, None)
