"""What a log has added: the files that delta-rs lists now and did not list then, or no answer."""

import json
import shutil
from pathlib import Path
from random import Random

import pytest
from deltalake import DeltaTable

from seglake.lake import log_growth
from seglake.lake.log_growth import LogPlace, added_after, place_of
from seglake.lake.tables import CHECKPOINTS
from support.lake_drivers import commit
from support.lake_rows import Lake, lake_at, next_wave


def _commit(lake: Lake, number: int) -> None:
    topic = ["orders", "two words", "ä%20"][number % 3]
    assert commit(lake, next_wave(lake, topic, range(number, number + 2))) == ((topic,), ())


def _listed(lake: Lake) -> list[str]:
    return sorted(lake_at(lake.path).tables.file_paths(CHECKPOINTS))


def _place(lake: Lake) -> LogPlace:
    place = place_of(
        lake.tables, CHECKPOINTS, lake_at(lake.path).tables.open(CHECKPOINTS).version()
    )
    assert place is not None
    return place


@pytest.mark.parametrize("seed", range(4))
def test_it_has_what_delta_rs_lists_or_nothing(lake: Lake, seed: int) -> None:
    random = Random(seed)
    places: list[tuple[LogPlace, list[str], int]] = []
    merges = 0
    for number in range(12):
        _commit(lake, number)
        if random.random() < 0.2:
            handle = DeltaTable(lake.tables.path(CHECKPOINTS))
            merges += handle.optimize.compact()["numFilesRemoved"] > 0
        places.append((_place(lake), _listed(lake), merges))
    now = places[-1][0].version
    for place, before, merges_before in places:
        added = added_after(lake.tables, CHECKPOINTS, place, now)
        if merges_before < merges:
            assert added is None
        else:
            assert added is not None
            assert sorted(added + before) == _listed(lake)


def test_log_of_a_copy_that_went_another_way_tells_nothing(lake: Lake, tmp_path: Path) -> None:
    _commit(lake, 0)
    other = lake_at(shutil.copytree(lake.path, tmp_path / "other"))
    shared = _place(lake)
    for each in (lake, other):
        _commit(each, 3)
        _commit(each, 6)
    place = _place(lake)
    assert added_after(other.tables, CHECKPOINTS, place, place.version) is None
    assert added_after(other.tables, CHECKPOINTS, shared, place.version - 1) is not None
    assert added_after(lake.tables, CHECKPOINTS, place, place.version - 1) is None


def test_file_that_was_there_before_is_none_that_came(lake: Lake) -> None:
    _commit(lake, 0)
    place = _place(lake)
    path = Path(lake.tables.log_entry_path(CHECKPOINTS, place.version))
    again = path.read_text().replace('"dataChange":true', '"dataChange":false')
    path.with_name(f"{place.version + 1:020d}.json").write_text(again)
    assert added_after(lake.tables, CHECKPOINTS, place, place.version) == []
    assert added_after(lake.tables, CHECKPOINTS, place, place.version + 1) is None


def test_file_that_has_gone_leaves_no_answer(lake: Lake) -> None:
    _commit(lake, 0)
    place = _place(lake)
    [path] = DeltaTable(lake.tables.path(CHECKPOINTS)).file_uris()
    entry = Path(lake.tables.log_entry_path(CHECKPOINTS, place.version + 1))
    name = path.partition("/checkpoints/")[2]
    entry.write_text(json.dumps({"remove": {"path": name, "dataChange": True}}))
    assert added_after(lake.tables, CHECKPOINTS, place, place.version + 1) is None


def test_long_log_is_left_to_delta_rs(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_growth, "_MOST_ENTRIES", 2)
    _commit(lake, 0)
    place = _place(lake)
    for number in (3, 6, 9):
        _commit(lake, number)
    assert added_after(lake.tables, CHECKPOINTS, place, place.version + 2) is not None
    assert added_after(lake.tables, CHECKPOINTS, place, place.version + 3) is None


def test_expired_and_damaged_entries_are_no_answer(lake: Lake) -> None:
    places = []
    for number in range(4):
        _commit(lake, number)
        places.append(_place(lake))
    now = places[-1].version
    path = Path(lake.tables.log_entry_path(CHECKPOINTS, places[1].version))
    entry = path.read_bytes()
    for left in (entry[:-9], b"7", b'{"add":7}', None):
        path.unlink()
        if left is not None:
            path.write_bytes(left)
        assert added_after(lake.tables, CHECKPOINTS, places[0], now) is None
        assert added_after(lake.tables, CHECKPOINTS, places[1], now) is None
        assert added_after(lake.tables, CHECKPOINTS, places[2], now) is not None
    assert place_of(lake.tables, CHECKPOINTS, places[1].version) is None
