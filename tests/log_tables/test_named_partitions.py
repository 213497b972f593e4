"""Which partitions exist at the end of a metadata log, over rows written by hand."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import CLUSTER_METADATA
from seglake.log_tables.named_partitions import named_partitions
from seglake.storage.local_storage import LocalStorage

SNAPSHOT = "00000000000000000100-0000000001.checkpoint"
TORN = "00000000000000000900-0000000001.checkpoint"


def _row(
    offset: int | None, kind: str, topic_id: str = "", **other: object
) -> Mapping[str, object]:
    return {
        "source_id": "c",
        "record_offset": offset,
        "record_type": kind,
        "topic_id": topic_id,
    } | other


def _named(lake: Path, *rows: Mapping[str, object]) -> list[tuple[str, int, str | None]]:
    schema = pa.schema(CLUSTER_METADATA.schema)
    write_deltalake(str(lake / "cluster_metadata"), pa.Table.from_pylist([*rows], schema))
    tables = LakeTables(str(lake), LocalStorage())
    return [(key.topic, key.partition, key.topic_id) for key in named_partitions(tables, "c")]


def _topic(offset: int, name: str, topic_id: str, **other: object) -> list[Mapping[str, object]]:
    made = _row(offset, "topic", topic_id, topic=name, **other)
    return [made, _row(offset + 1, "partition", topic_id, partition=0, **other)]


def test_a_removed_topic_has_no_partition_and_its_successor_has_its_own(tmp_path: Path) -> None:
    found = _named(
        tmp_path,
        *_topic(0, "a", "A"),
        _row(2, "partition", "A", partition=1),
        _row(3, "remove_topic", "A"),
        *_topic(4, "a", "A2"),
        *[{**row, "source_id": "other"} for row in _topic(0, "b", "B")],
    )
    assert found == [("a", 0, "A2")]


def test_a_whole_snapshot_stands_for_all_below_it_and_a_torn_one_for_nothing(
    tmp_path: Path,
) -> None:
    found = _named(
        tmp_path,
        *_topic(0, "gone", "G"),
        *_topic(1, "a", "A", snapshot=SNAPSHOT),
        *_topic(100, "b", "B"),
        *_topic(1, "c", "C", snapshot=TORN),
        _row(None, "unknown", snapshot=TORN, unread_reason="torn"),
    )
    assert [name for name, *_ in found] == ["a", "b", "c"]


def test_what_a_transaction_did_counts_only_if_it_ended(tmp_path: Path) -> None:
    found = _named(
        tmp_path,
        _row(0, "begin_transaction"),
        *_topic(1, "ended", "E"),
        _row(3, "end_transaction"),
        _row(4, "begin_transaction"),
        *_topic(5, "aborted", "A"),
        _row(7, "abort_transaction"),
        *_topic(8, "after", "F"),
        _row(10, "begin_transaction"),
        *_topic(11, "open", "O"),
    )
    assert [name for name, *_ in found] == ["after", "ended"]
