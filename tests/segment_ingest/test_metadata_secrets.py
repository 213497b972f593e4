"""No table has a secret of the metadata log."""

import json
import uuid
from pathlib import Path

from seglake.lake.tables import TABLES
from support.accounts import imbalances_of
from support.encoder import EncodedBatch, Partition, Segment
from support.encoder.internal import (
    compact,
    config_value,
    int8,
    int32,
    metadata_value,
    tagged,
    topic_value,
)
from support.internal_logs import INTERNAL, METADATA, batch, rows_of, write_topic
from support.lakes import ingested, read_table
from support.made_logs import write_over

SECRET = "hunter2-hunter2-hunter2"
BROKER, TOPIC = 4, 2
TOPIC_ID = uuid.uuid5(uuid.NAMESPACE_OID, "orders")


def assert_no_secret(lake: Path) -> None:
    for table in TABLES:
        assert SECRET not in repr(read_table(lake, table.name)), table.name


def scram_value(name: str) -> bytes:
    parts = (compact(SECRET.encode()) for _ in range(3))
    return metadata_value(11, 0, compact(name), int8(1), *parts, int32(4096), tagged())


def secret_log() -> list[EncodedBatch]:
    """A metadata log with secrets of every kind among plain records."""
    values = [
        topic_value("orders", TOPIC_ID),
        scram_value("ann"),
        metadata_value(10, 0, compact(SECRET), tagged()),
        config_value(BROKER, "1", "ssl.keystore.password", SECRET),
        config_value(BROKER, "1", "my.own.setting", SECRET),
        config_value(TOPIC, "orders", "retention.ms", "1000"),
        metadata_value(99, 0, SECRET.encode()),
        config_value(BROKER, "1", "log.cleaner.threads", "2") + SECRET.encode(),
        SECRET.encode(),
    ]
    return [batch(0, [(None, value) for value in values])]


def test_no_table_has_a_secret_of_the_metadata_log(data: Path, lake: Path) -> None:
    write_topic(data, METADATA, secret_log())
    summary = ingested(data, lake, select=INTERNAL)
    assert_no_secret(lake)
    assert SECRET not in summary.to_json() + summary.to_text()

    rows = rows_of(lake, "cluster_metadata")
    assert [row["record_type"] for row in rows] == [
        *("topic", "user_scram_credential", "delegation_token", "config", "config", "config"),
        *("unknown", "config", "unknown"),
    ]
    assert [row["is_redacted"] for row in rows] == [False, *[True] * 4, *[False] * 4]
    assert [row["value"] for row in rows] == [*[None] * 5, "1000", *[None] * 3]
    assert [row["unread_reason"] is None for row in rows] == [*[True] * 6, *[False] * 3]
    assert (rows[3]["name"], rows[3]["resource_name"]) == ("ssl.keystore.password", "1")
    assert json.loads(rows[3]["detail"])["value"] is None
    assert (summary.counts.redacted, summary.counts.unread_internal) == (4, 3)

    raw = sorted(read_table(lake, "records"), key=lambda row: row["offset"])
    assert [row["offset"] for row in raw if row["value"] is not None] == [0, 5]
    assert imbalances_of(lake) == []


def test_damage_to_the_metadata_log_is_quarantined_without_its_bytes(
    data: Path, lake: Path
) -> None:
    (sound,) = secret_log()
    damaged = EncodedBatch(*sound)._replace(data=sound.data[:-1] + bytes([sound.data[-1] ^ 1]))
    behind = batch(9, [(None, topic_value("payments", TOPIC_ID))])
    write_topic(data, METADATA, [damaged, behind])
    ingested(data, lake, select=INTERNAL)
    (row,) = read_table(lake, "quarantine")
    assert (row["defect_code"], row["raw"], row["raw_is_complete"]) == ("crc_mismatch", b"", False)
    assert row["length_bytes"] == len(sound.data)
    (found,) = read_table(lake, "cluster_metadata")
    assert (found["topic"], found["record_offset"]) == ("payments", 9)


def test_a_copys_tail_that_lost_an_election_is_listed_without_its_bytes(
    data: Path, lake: Path
) -> None:
    shared = batch(0, [(None, topic_value(f"t{n}", TOPIC_ID)) for n in range(4)])
    lost = batch(4, [(None, scram_value("ann")), (None, scram_value("bob"))])
    won = batch(4, [(None, topic_value(f"t{n}", TOPIC_ID)) for n in range(4, 9)], leader_epoch=1)
    epochs = [((0, 0),), ((0, 0), (1, 4))]
    for broker_id, tail in enumerate([lost, won]):
        log = [Segment(0, [shared, tail])]
        partition = Partition(METADATA, 0, log, leader_epochs=epochs[broker_id])
        write_over(data / str(broker_id), [partition], broker_id=broker_id)
    ingested([data / "0", data / "1"], lake, select=INTERNAL)
    (row,) = read_table(lake, "quarantine")
    assert (row["defect_code"], row["broker_id"], row["raw"]) == ("replica_conflict", 0, b"")
    assert (row["base_offset"], row["length_bytes"]) == (4, len(lost.data))
    assert_no_secret(lake)
    assert [found["topic"] for found in rows_of(lake, "cluster_metadata")] == [
        f"t{n}" for n in range(9)
    ]
