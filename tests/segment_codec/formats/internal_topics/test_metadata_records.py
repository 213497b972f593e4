"""Records of `__cluster_metadata`: what no disk has, and what no table may have."""

import json
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seglake.segment_codec.formats.internal_topics.coordinator_records import (
    group_record,
    transaction_record,
)
from seglake.segment_codec.formats.internal_topics.metadata_records import metadata_record
from support.encoder.internal import (
    compact,
    compact_array,
    config_value,
    int8,
    int16,
    int32,
    metadata_value,
    tagged,
    topic_value,
    uvarint,
)

ID = uuid.uuid5(uuid.NAMESPACE_OID, "orders")
SECRET = "hunter2-hunter2"
HASTY = settings(max_examples=300)


def scram_value(name: str) -> bytes:
    return metadata_value(
        11,
        0,
        compact(name),
        int8(1),
        *(compact(SECRET.encode()) for _ in range(3)),
        int32(4096),
        tagged(),
    )


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "the value is null"),
        (b"", "1 bytes are needed at position 0, 0 remain"),
        (uvarint(0) + uvarint(2) + uvarint(0), "frame version 0, expected 1"),
        (metadata_value(30, 0), "type 30 is unknown"),
        (metadata_value(6, 0), "type 6 is unknown"),
        (metadata_value(2, 1), "version 1 is not in 0 to 0"),
        (topic_value("orders", ID)[:-1], "1 bytes are needed at position 26, 0 remain"),
        (topic_value("orders", ID) + b"\x00", "1 bytes remain after position 27"),
    ],
)
def test_bytes_that_are_no_record_are_said_to_be_none(value: bytes | None, reason: str) -> None:
    record = metadata_record(value)
    assert (record.unread_reason, record.fields) == (reason, {})
    assert record.may_hold_secret


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (metadata_value(10, 0, compact(SECRET)), "delegation_token"),
        (scram_value("ann"), "user_scram_credential"),
        (metadata_value(22, 0, compact("ann"), int8(1)), "remove_user_scram_credential"),
        (metadata_value(26, 0, compact(SECRET)), "remove_delegation_token"),
    ],
)
def test_a_credential_is_named_and_never_read(value: bytes, name: str) -> None:
    record = metadata_record(value)
    assert (record.record_type, record.is_redacted, record.fields) == (name, True, {})
    assert record.unread_reason is None
    assert record.may_hold_secret
    assert SECRET not in repr(record)


TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


@pytest.mark.parametrize(
    ("resource_type", "name"),
    [
        (BROKER, "ssl.keystore.password"),
        (BROKER, "listener.name.internal.ssl.keystore.password"),
        (BROKER, "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config"),
        (BROKER, "ssl.key.password"),
        (BROKER, "ssl.keystore.key"),
        (BROKER, "ssl.keystore.certificate.chain"),
        (BROKER, "ssl.truststore.certificates"),
        (BROKER, "sasl.oauthbearer.client.credentials.client.secret"),
        (BROKER, "password.encoder.secret"),
        (BROKER, "rsm.config.storage.s3.access"),
        (BROKER, "my.plugin.setting"),
        (BROKER, "listeners.mine"),
        (BROKER, "metric.reporters.x"),
        (BROKER, "log.reporter.api.token"),
        (BROKER_LOGGER, "kafka.server"),
        (77, "min.insync.replicas"[::-1]),
        (TOPIC, "encryption.key.id"),
        (GROUP, "share.secret"),
    ],
)
def test_a_config_that_may_be_a_secret_has_no_value(resource_type: int, name: str) -> None:
    record = metadata_record(config_value(resource_type, "1", name, SECRET))
    assert record.is_redacted
    assert record.fields == {
        "resourceType": resource_type,
        "resourceName": "1",
        "name": name,
        "value": None,
    }


@pytest.mark.parametrize(
    ("resource_type", "name"),
    [
        (TOPIC, "cleanup.policy"),
        (TOPIC, "retention.ms"),
        (GROUP, "consumer.session.timeout.ms"),
        (CLIENT_METRICS, "interval.ms"),
        (BROKER, "min.insync.replicas"),
        (BROKER, "log.cleaner.threads"),
        (BROKER, "num.io.threads"),
        (BROKER, "advertised.listeners"),
        (BROKER, "listener.name.internal.ssl.client.auth"),
        (BROKER, "max.connections"),
        (BROKER, "max.connections.per.ip"),
        (BROKER, "max.connection.creation.rate"),
    ],
)
def test_a_config_that_is_known_to_be_none_has_its_value(resource_type: int, name: str) -> None:
    record = metadata_record(config_value(resource_type, "1", name, "x"))
    assert not record.may_hold_secret
    assert record.fields["value"] == "x"


def test_a_removed_config_hides_nothing() -> None:
    record = metadata_record(config_value(BROKER, "1", "ssl.keystore.password", None))
    assert not record.may_hold_secret


RECORDS = [
    topic_value("orders", ID),
    config_value(TOPIC, "orders", "retention.ms", "1"),
    scram_value("ann"),
    metadata_value(
        3,
        2,
        int32(0),
        ID.bytes,
        *(compact_array([int32(1), int32(2)]) for _ in range(4)),
        *(int32(1), int32(0), int32(0)),
        compact_array([ID.bytes]),
        tagged({1: compact_array([int32(1)])}),
    ),
]


@HASTY
@given(
    st.one_of(st.none(), st.binary(max_size=60)),
    st.one_of(st.none(), st.binary(max_size=60)),
    st.integers(0, 23),
    st.integers(0, 4),
)
def test_no_bytes_make_a_reader_raise(
    key: bytes | None, value: bytes | None, key_type: int, version: int
) -> None:
    for reader in (group_record, transaction_record):
        for some_key in (key, int16(key_type) + (key or b"")):
            for some_value in (value, int16(version) + (value or b"")):
                assert reader(some_key, some_value).is_tombstone == (some_value is None)
    assert metadata_record(value).record_type
    framed = metadata_value(key_type, version, value or b"")
    json.dumps(metadata_record(framed).fields, allow_nan=False)


@pytest.mark.parametrize("value", RECORDS, ids=lambda value: metadata_record(value).record_type)
def test_a_record_with_any_byte_changed_is_read_or_said_to_be_unread(value: bytes) -> None:
    for position in range(len(value)):
        for byte in (0x00, 0x01, 0x7F, 0x80, 0xFF, value[position] ^ 0x10):
            damaged = value[:position] + bytes([byte]) + value[position + 1 :]
            record = metadata_record(damaged)
            assert SECRET not in repr(record)
            assert record.unread_reason is None or record.fields == {}
    for length in range(len(value)):
        record = metadata_record(value[:length])
        assert record.unread_reason is not None or record.is_redacted
