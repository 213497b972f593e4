"""Erased records leave every other table too: damaged bytes, salvaged, internal and typed rows."""

import os
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from seglake.lake.place_columns import place_columns
from seglake.lake.tables import RECORDS
from seglake.pipelines.lake_erase.found_rows import PLACE_SCHEMA
from seglake.pipelines.lake_erase.placed_rows import RecordPlaces
from seglake.pipelines.lake_retake.retake_plan import Selection
from seglake.task_engine.engine import Engine
from support.audits import audited
from support.dying import Died, dying
from support.encoder import (
    Codec,
    Partition,
    Record,
    Segment,
    record_batch,
    topic_id_text,
    write_log_dir,
)
from support.erasures import Chosen, erased, places_of
from support.internal_logs import INTERNAL, OFFSETS, commits, rows_of, write_topic
from support.lakes import ingested, maintained, read_table, replayed, retaken
from support.latest_state import updated
from support.people import people_disk
from support.typed_disk import schema_pair, write_registry
from support.typed_lakes import ID_1, decoded, elected_disk, made

_KEY = "ann's key"
_SECRET = "a secret of ann"
_SALVAGE = {"salvage": True}


def damaged(folder: Path, codec: Codec = Codec.NONE, *, at: bytes = _SECRET.encode()) -> Path:
    """A disk of 20 orders; the last batch (offsets 15 to 19) has a flipped bit."""
    disk = people_disk(folder, 20, topics=["orders"], codec=codec)
    log = disk / "orders-0" / f"{0:020}.log"
    content = bytearray(log.read_bytes())
    content[content.rindex(at) if codec is Codec.NONE else -3] ^= 1
    log.write_bytes(content)
    return disk


def topic_disk(folder: Path, topic_id: uuid.UUID | None, *values: bytes) -> Path:
    """A disk of a cluster with the topic `t`, of which other disks may have another id."""
    batches = [record_batch(0, [Record(b"k%d" % at, value) for at, value in enumerate(values)])]
    log = Partition("t", 0, [Segment(0, batches)], topic_id=topic_id)
    write_log_dir(folder, [log], broker_id=int(folder.name), cluster_id="c")
    return folder


def quarantined(lake: Path) -> list[tuple[bytes | None, bool]]:
    return [(row["raw"], row["raw_is_complete"]) for row in read_table(lake, "quarantine")]


# Any: columns of many types.
def table_of(lake: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(str(lake / name)).to_pyarrow_table().to_pylist()
    return rows


@pytest.mark.parametrize(
    "choice",
    [{"key": _KEY}, {"where": "value_text LIKE '%secret of ann 18'"}],
    ids=["key", "where"],
)
def test_damaged_batch_with_the_records_loses_its_bytes(
    tmp_path: Path, engine: Engine, choice: Chosen
) -> None:
    lake = tmp_path / "lake"
    ingested(damaged(tmp_path / "disk"), lake, read=_SALVAGE)
    summary = erased(lake, **choice, engine=engine)
    assert quarantined(lake) == [(None, False)]
    assert "quarantine: the bytes of 1 damaged batch were dropped" in summary.to_text()
    assert 18 not in [row["offset"] for row in read_table(lake, "salvaged_records")]
    assert 16 in [row["offset"] for row in read_table(lake, "salvaged_records")]


def test_damaged_batch_of_others_keeps_its_bytes(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(damaged(tmp_path / "disk"), lake)
    before = quarantined(lake)
    erased(lake, key="nobody's key")
    assert (quarantined(lake), before[0][1]) == (before, True)


def test_bytes_that_do_not_decode_are_searched_for_the_key(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    # the length of the record before the key is changed, so that the batch cannot be decoded
    ingested(damaged(tmp_path / "disk", at=b"\x12bob's key"), lake)
    erased(lake, key=_KEY)
    assert quarantined(lake) == [(None, False)]


def test_batch_that_cannot_be_searched_is_named_until_its_bytes_are_dropped(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(damaged(tmp_path / "disk", Codec.GZIP), lake)
    summary = erased(lake, key=_KEY)
    said = "unsearched: orders-0: 1 damaged batch in quarantine cannot be decoded"
    assert said in summary.to_text()
    assert (summary.exit_code, quarantined(lake)[0][1]) == (3, True)
    summary = erased(lake, key=_KEY, drop_undecodable=True)
    assert (summary.exit_code, quarantined(lake)) == (0, [(None, False)])


def test_damaged_bytes_of_later_runs_are_left_out_too(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(people_disk(tmp_path / "disk", 10, topics=["orders"]), lake)
    erased(lake, key=_KEY)
    disk = damaged(tmp_path / "disk")
    ingested(disk, lake, read=_SALVAGE)
    assert quarantined(lake) == [(None, False)]
    ingested(disk, lake, read=_SALVAGE)
    replayed(lake, disk, read=_SALVAGE)
    assert quarantined(lake) == [(None, False)]
    assert read_table(lake, "salvaged_records") == []


def test_rows_of_an_internal_topic_are_removed_and_not_brought_back(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    disk = write_topic(tmp_path / "disk", OFFSETS, [commits(0, 10, 11, 12)])
    ingested(disk, lake, select=INTERNAL)
    select = {**INTERNAL, "topics": [OFFSETS]}
    summary = erased(lake, where='"offset" = 1', topics=[OFFSETS], settings={"select": select})
    assert [row["record_offset"] for row in rows_of(lake, "consumer_offsets")] == [0, 2]
    assert "consumer_offsets: 1 row was removed" in summary.to_text()
    disk = write_topic(tmp_path / "disk", OFFSETS, [commits(0, 10, 11, 12), commits(3, 13)])
    ingested(disk, lake, select=INTERNAL)
    retaken(lake, disk, selection=Selection(is_whole=True), select=select)
    assert {row["record_offset"] for row in rows_of(lake, "consumer_offsets")} == {0, 2, 3}


def test_typed_rows_and_rejects_are_removed(tmp_path: Path) -> None:
    lake = made(tmp_path, ID_1 + b"\x02", ID_1 + b"\x04", b"no frame", b"no frame of ann")
    decoded(lake, "t")
    erased(lake, where='"offset" IN (1, 3)', topics=["t"])
    assert [row["_offset"] for row in table_of(lake, "typed/t")] == [0]
    assert [row["offset"] for row in table_of(lake, "value_rejects")] == [2]
    assert audited(lake).exit_code == 0
    decoded(lake, "t")
    assert audited(lake).exit_code == 0


def test_rows_of_another_topic_id_at_the_same_offset_stay(tmp_path: Path) -> None:
    lake, first, again = tmp_path / "lake", uuid.UUID(int=1), uuid.UUID(int=2)
    ingested(write_registry(tmp_path / "registry", [(0, [schema_pair("t-value", 1, 1)])]), lake)
    disks = [
        topic_disk(tmp_path / "0", first, ID_1 + b"\x02", b"no frame"),
        topic_disk(tmp_path / "1", again, ID_1 + b"\x04", b"no frame again"),
    ]
    ingested(disks, lake)
    decoded(lake, "t")
    updated(lake, "t")
    assert erased(lake, where=f"topic_id = '{topic_id_text(first)}'", topics=["t"]).records == 2
    kept = [ID_1 + b"\x04", b"no frame again"]
    assert [row["value"] for row in table_of(lake, "records") if row["topic"] == "t"] == kept
    assert [row["value"] for row in table_of(lake, "latest/t")] == kept
    assert [row["_topic_id"] for row in table_of(lake, "typed/t")] == [topic_id_text(again)]
    assert [row["raw"] for row in table_of(lake, "value_rejects")] == kept[1:]
    assert audited(lake).exit_code == 0


def test_places_without_a_topic_id_are_those_of_rows_without_one() -> None:
    def rows(*topic_ids: str | None) -> pa.Table:
        shared = {"source_id": "c", "partition": 0, "offset": 1, "generation": 1}
        # the places of a record have sizes, too
        more = {"topic": "t", "key_bytes": 0, "value_bytes": 0, "hash": None}
        found = [{**shared, **more, "topic_id": topic_id} for topic_id in topic_ids]
        return pa.Table.from_pylist(found, schema=PLACE_SCHEMA)

    for topic_id in (None, "a"):
        mask = RecordPlaces.of(rows(topic_id)).mask(rows(None, "a", "b"), place_columns(RECORDS))
        assert mask.tolist() == [topic_id is None, topic_id == "a", False]


def test_purge_leaves_no_byte_of_the_records_in_any_file(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(damaged(tmp_path / "disk"), lake, read=_SALVAGE)
    erased(lake, key=_KEY)
    assert places_of(lake, _SECRET[2:].encode()) != []
    summary = erased(lake, key=_KEY, purges=True)
    assert places_of(lake, _SECRET[2:].encode()) == []
    assert places_of(lake, _KEY.encode()) == []
    assert "readers of earlier versions fail" in summary.to_text()


def test_latest_state_forgets_the_record_and_has_the_older_one_after_its_next_run(
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    ingested(people_disk(tmp_path / "disk", 20, topics=["orders"]), lake)
    updated(lake, "orders")
    erased(lake, where='"offset" = 18')
    assert sorted(row["offset"] for row in table_of(lake, "latest/orders")) == [17, 19]
    updated(lake, "orders")
    assert sorted(row["offset"] for row in table_of(lake, "latest/orders")) == [15, 17, 19]


@pytest.mark.parametrize(
    "choice", [{"key": _KEY}, {"where": '"offset" % 3 = 0'}], ids=["key", "where"]
)
def test_latest_state_that_was_merged_loses_its_rows(
    tmp_path: Path, engine: Engine, choice: Chosen
) -> None:
    lake = tmp_path / "lake"
    for stop in (10, 20):
        ingested(people_disk(tmp_path / "disk", stop, topics=["orders"]), lake)
        updated(lake, "orders")
    summary = erased(lake, **choice, engine=engine)
    assert sorted(row["offset"] for row in table_of(lake, "latest/orders")) == [17, 19]
    assert "latest/orders: 1 row was removed" in summary.to_text()
    assert audited(lake).exit_code == 0


@pytest.mark.parametrize(
    "choice", [{"key": _KEY}, {"where": "value_text LIKE '%secret of ann%'"}], ids=["key", "where"]
)
def test_latest_state_loses_records_that_have_left_the_lake(
    tmp_path: Path, engine: Engine, choice: Chosen
) -> None:
    lake = tmp_path / "lake"
    disk = people_disk(tmp_path / "disk", 20)
    ingested(disk, lake)
    updated(lake, "orders", "payments")
    maintained(lake, retention={"records": "1d"})
    assert read_table(lake, "records") == []
    dry = erased(lake, **choice, dry_run=True)
    summary = erased(lake, **choice, engine=engine)
    assert sorted(row["offset"] for row in table_of(lake, "latest/orders")) == [17, 19]
    assert len(table_of(lake, "latest/payments")) == 3
    assert "latest/orders: 1 row was removed" in summary.to_text()
    assert "latest/orders: 1 row would be removed" in dry.to_text()
    assert len(table_of(lake, "erasures")) == 1
    assert audited(lake).exit_code == 0


def test_purge_deletes_files_that_dead_runs_left(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(people_disk(tmp_path / "disk", 10, topics=["orders"]), lake)
    with pytest.raises(Died):
        ingested(damaged(tmp_path / "disk"), lake, after=dying("redo"))
    with pytest.raises(Died):
        erased(lake, key=_KEY, after=dying("redo"))
    summary = erased(lake, key=_KEY, purges=True)
    assert places_of(lake, _SECRET.encode()) == []
    assert summary.purged is not None
    assert summary.purged.left_files == 0


def test_purge_keeps_files_of_runs_that_may_be_active(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(people_disk(tmp_path / "disk", 10, topics=["orders"]), lake)
    written = next((lake / "records" / "topic=orders").glob("*.parquet"))
    active = written.with_name("active.parquet")
    shutil.copy(written, active)
    os.utime(active, (time.time() + 60, time.time() + 60))
    summary = erased(lake, key=_KEY, purges=True)
    assert (active.exists(), written.exists()) == (True, False)
    assert "1 file of active or dead runs may have the records" in summary.to_text()
    assert summary.exit_code == 3
    assert audited(lake).exit_code == 3
    active.unlink()
    assert erased(lake, key=_KEY, purges=True).exit_code == 0
    assert audited(lake).exit_code == 0


def test_batches_of_losing_replicas_are_quarantined_without_erased_bytes_and_once(
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    winner = elected_disk(tmp_path / "winner", (1, [b"a 0"]), (3, [b"b 1"]), broker_id=1)
    ingested(winner, lake)
    erased(lake, key="k", topics=["t"])
    loser = elected_disk(tmp_path / "loser", (1, [b"a 0", b"order 1", b"order 2"]), broker_id=0)
    for _ in range(2):
        ingested([winner, loser], lake, read={"upper_bound": "log_end"})
    rows = read_table(lake, "quarantine")
    assert {row["defect_code"] for row in rows} == {"replica_conflict"}
    assert [row["raw"] or None for row in rows] == [None] * 2
    assert [row["raw_is_complete"] for row in rows] == [False] * 2
    assert places_of(lake, b"order") == []
