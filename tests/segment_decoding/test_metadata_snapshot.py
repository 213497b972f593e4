"""What is deleted below the start of the metadata log, from the snapshot that stands there."""

import json
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

from support.broker_disks import log_dir
from support.encoder import Partition, Segment
from support.encoder.internal import topic_value
from support.internal_dumps import internal_partitions
from support.internal_logs import INTERNAL, METADATA, batch, rows_of
from support.lakes import content, ingested, read_table
from support.made_logs import write_over

TOPIC_ID = uuid.uuid5(uuid.NAMESPACE_OID, "orders")
SNAPSHOTS = [f"{end:020d}-0000000001.checkpoint" for end in (53, 86)]


def metadata_from_53(folder: Path, snapshots: Sequence[str] = SNAPSHOTS) -> Path:
    """A metadata log whose segments below 53 are deleted, and snapshots of a real broker."""
    values = [(None, topic_value(f"made-{n}", TOPIC_ID)) for n in range(10)]
    write_over(folder, [Partition(METADATA, 0, [Segment(53, [batch(53, values)])])])
    for name in snapshots:
        real = log_dir("11_kraft", "stopped") / f"{METADATA}-0" / name
        shutil.copy(real, folder / f"{METADATA}-0" / name)
    return folder


def test_what_is_deleted_below_the_log_start_comes_from_the_snapshot_there(
    data: Path, lake: Path
) -> None:
    metadata_from_53(data)
    ingested(data, lake, select=INTERNAL)
    (partition,) = internal_partitions("11_kraft", "stopped", METADATA)
    expected = [record for record in partition.records if record.file_name == SNAPSHOTS[0]]
    rows = rows_of(lake, "cluster_metadata")
    assert {row["snapshot"] for row in rows} == {None, SNAPSHOTS[0]}
    snapshot = [row for row in rows if row["snapshot"]]
    assert [row["record_offset"] for row in snapshot] == [record.offset for record in expected]
    for row, record in zip(snapshot, expected, strict=True):
        assert record.value is not None
        assert f"{row['record_type']}_record".upper() == record.value["type"]
        assert json.loads(row["detail"]) == record.value["data"]
        assert row["record_timestamp_ms"] == record.timestamp_ms
    assert [row["topic"] for row in rows if not row["snapshot"]] == [f"made-{n}" for n in range(10)]
    before = content(lake, "cluster_metadata")
    ingested(data, lake, select=INTERNAL)
    assert content(lake, "cluster_metadata") == before


def test_a_log_that_begins_at_zero_needs_no_snapshot(data: Path, lake: Path) -> None:
    source, folder = log_dir("11_kraft", "stopped"), f"{METADATA}-0"
    shutil.copytree(source / folder, data / folder)
    shutil.copy(source / "meta.properties", data)
    (data / folder / f"{0:020d}-{0:010d}.checkpoint").unlink()  # the one without records
    ingested(data, lake, select=INTERNAL)
    rows = read_table(lake, "cluster_metadata")
    assert {row["snapshot"] for row in rows} == {None}
    # No checkpoint says what is committed; the newest snapshot ends at 109.
    assert max(row["record_offset"] for row in rows) == 108


def test_a_log_without_a_snapshot_at_its_start_is_taken_alone(data: Path, lake: Path) -> None:
    metadata_from_53(data, snapshots=[])
    ingested(data, lake, select=INTERNAL)
    assert {row["snapshot"] for row in read_table(lake, "cluster_metadata")} == {None}


def test_damage_to_a_snapshot_is_a_row_and_the_rest_is_read(data: Path, lake: Path) -> None:
    metadata_from_53(data, snapshots=SNAPSHOTS[:1])
    path = data / f"{METADATA}-0" / SNAPSHOTS[0]
    sound = path.read_bytes()
    path.write_bytes(sound[:-30])
    summary = ingested(data, lake, select=INTERNAL)
    unread = [row for row in read_table(lake, "cluster_metadata") if row["unread_reason"]]
    assert [(row["record_type"], row["snapshot"]) for row in unread] == [("unknown", SNAPSHOTS[0])]
    assert "at position" in unread[0]["unread_reason"]
    assert summary.counts.unread_internal == 1
    assert [row for row in read_table(lake, "cluster_metadata") if row["record_type"] == "topic"]
