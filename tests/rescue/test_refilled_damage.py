"""Damage in a copy from before a compaction, once a sound copy has brought what it hides."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.audits import audited, kinds
from support.damaged_replicas import resolutions_in
from support.encoder import EncodedBatch, Partition, Record, Segment, record_batch, write_checkpoint
from support.lakes import ingested, read_table, replayed
from support.made_logs import FIRST_MS, TOPIC_IDS, made_batches, write_over
from support.views import viewed

_READ = {"older_copies": True, "upper_bound": "log_end", "salvage": True}
_CURRENT = 'SELECT "offset" FROM current_salvaged_records ORDER BY "offset"'


def _write(folder: Path, batches: Sequence[EncodedBatch], broker_id: int) -> Path:
    """A copy of orders-0, cleaned up to its end if that is the first broker's."""
    partition = Partition("orders", 0, [Segment(0, batches)], topic_id=TOPIC_IDS["orders"])
    write_over(folder, [partition], broker_id=broker_id)
    if broker_id == 0:
        write_checkpoint(folder / "cleaner-offset-checkpoint", {("orders", 0): 15})
    return folder


def _damaged(batch: EncodedBatch) -> EncodedBatch:
    content = bytearray(batch.data)
    content[-3] ^= 1
    return batch._replace(data=bytes(content))


def _thinned(*offsets: int) -> EncodedBatch:
    """What the cleaner left of the batch of offsets 5 to 9; the last one is there."""
    return record_batch(5, [Record(b"k", b"left", FIRST_MS, offset=at) for at in offsets])


@pytest.fixture
def copies(tmp_path: Path) -> dict[str, Path]:
    first, second, third = made_batches("orders", 0, range(15))
    found = {
        "emptied": ([first, third], 0),
        "thinned": ([first, _thinned(7, 9), third], 0),
        "half": ([first, _thinned(6, 7, 9), third], 0),
        "damaged": ([first, _damaged(second), third], 1),
        "damaged half": ([first, _damaged(_thinned(6, 7, 9)), third], 1),
        "sound": ([first, second, third], 2),
        "same disk": ([first, second, third], 1),
    }
    return {name: _write(tmp_path / name, *content) for name, content in found.items()}


def _salvaged(lake: Path) -> list[int]:
    return [row["offset"] for row in viewed(lake, _CURRENT)]


@pytest.mark.parametrize("command", ["ingest", "replay"])
@pytest.mark.parametrize("sound", ["sound", "same disk"])
@pytest.mark.parametrize("cleaned", ["emptied", "thinned"])
def test_damage_that_a_sound_copy_fills_is_resolved_and_its_salvaged_records_leave_the_view(
    tmp_path: Path, copies: dict[str, Path], cleaned: str, sound: str, command: str
) -> None:
    lake = tmp_path / "lake"
    for name in (cleaned, "damaged"):
        ingested(copies[name], lake, read=_READ)
    hidden = [*range(5, 10)] if cleaned == "emptied" else [5, 6, 8]
    assert {*hidden} <= {row["offset"] for row in read_table(lake, "salvaged_records")}
    assert resolutions_in(lake) == ["None"]
    if command == "ingest":
        ingested(copies[sound], lake, read=_READ)
    else:
        done = replayed(lake, copies[sound], read=_READ)
        assert done.repaired_records + done.refilled.get("orders-0", 0) == len(hidden)
    assert resolutions_in(lake) == ["None", "sibling" if sound == "sound" else "replayed"]
    assert sorted(row["offset"] for row in read_table(lake, "records")) == [*range(15)]
    assert _salvaged(lake) == []
    assert len(read_table(lake, "salvaged_records")) == 5
    again = replayed(lake, copies["damaged"], read=_READ)
    assert (again.left_spans, again.repaired_records, again.refilled) == ({}, 0, {})
    assert again.salvaged.records == {}
    assert kinds(audited(lake)) == set()


def test_one_call_with_a_damaged_and_a_sound_copy_leaves_no_damage_unresolved(
    tmp_path: Path, copies: dict[str, Path]
) -> None:
    lake = tmp_path / "lake"
    ingested(copies["emptied"], lake, read=_READ)
    summary = ingested([copies["damaged"], copies["sound"]], lake, read=_READ)
    assert "NOT recovered" not in summary.to_text()
    assert resolutions_in(lake) in ([], ["None", "sibling"])
    assert (len(read_table(lake, "records")), _salvaged(lake)) == (15, [])


def test_damage_stands_while_a_copy_that_the_cleaner_thinned_out_brings_only_some_of_it(
    tmp_path: Path, copies: dict[str, Path]
) -> None:
    lake = tmp_path / "lake"
    for name in ("thinned", "damaged", "half"):
        ingested(copies[name], lake, read=_READ)
    assert len(read_table(lake, "records")) == 13
    assert resolutions_in(lake) == ["None"]
    ingested(copies["sound"], lake, read=_READ)
    assert len(read_table(lake, "records")) == 15
    assert resolutions_in(lake) == ["None", "sibling"]


def test_damage_of_a_thinned_out_batch_is_resolved_by_the_same_batch(
    tmp_path: Path, copies: dict[str, Path]
) -> None:
    lake = tmp_path / "lake"
    for name in ("thinned", "damaged half", "half"):
        ingested(copies[name], lake, read=_READ)
    assert resolutions_in(lake) == ["None", "sibling"]
    assert _salvaged(lake) == []
