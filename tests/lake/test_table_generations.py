"""Generations as the log has them: what delta-rs says of each app, asked one by one, is right."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from deltalake import DeltaTable

from seglake.lake.app_versions import app_id
from seglake.lake.delta_tables import LakeTables
from seglake.lake.table_commit import add_files
from seglake.lake.table_generations import TableGenerations
from seglake.lake.tables import GAPS
from seglake.storage.local_storage import LocalStorage
from support.lake_rows import SOURCE, Lake

_APPS = [app_id(SOURCE, f"topic-{number}") for number in range(8)]


class CountingStorage(LocalStorage):
    """Counts which files are read whole."""

    def __init__(self) -> None:
        super().__init__()
        self.read: Counter[str] = Counter()

    def read_bytes(self, path: str) -> bytes:
        self.read[Path(path).name] += 1
        return super().read_bytes(path)


@pytest.fixture
def log(lake: Lake) -> Path:
    return lake.path / "gaps" / "_delta_log"


def _commit(tables: LakeTables, generations: dict[str, int]) -> None:
    said = {"run_id": "run"}
    handle = tables.open(GAPS)
    assert not add_files(tables, GAPS, handle, [], now_ms=0, said=said, generations=generations)


def _told(known: TableGenerations, handle: DeltaTable) -> dict[str, int]:
    found = known.at(handle.version())
    return _right(handle) if found is None else {app: found.get(app, 0) for app in _APPS}


def _right(handle: DeltaTable) -> dict[str, int]:
    return {app: handle.transaction_version(app) or 0 for app in _APPS}


@pytest.mark.parametrize("seed", range(4))
def test_they_are_those_of_every_version_of_any_log(lake: Lake, log: Path, seed: int) -> None:
    random = Random(seed)
    known = TableGenerations(lake.storage, str(log))
    generations = Counter[str]()
    for _ in range(25):
        moved = random.sample(_APPS, random.randint(0, len(_APPS)))
        generations.update(moved)
        _commit(lake.tables, {app: generations[app] for app in moved})
        handle = DeltaTable(str(log.parent))
        if random.random() < 0.2:
            handle.create_checkpoint()
        if random.random() < 0.3:  # a view that is older than what is known
            handle.load_as_version(random.randint(0, handle.version()))
        if random.random() < 0.7:
            assert _told(known, handle) == _right(handle)
    handle = DeltaTable(str(log.parent))
    assert _told(TableGenerations(lake.storage, str(log)), handle) == _right(handle)
    assert _right(handle) == {app: generations[app] for app in _APPS}


def test_each_entry_is_read_once_whatever_the_number_of_topics(lake: Lake, log: Path) -> None:
    storage = CountingStorage()
    known = TableGenerations(storage, str(log))
    for generation in range(1, 15):
        _commit(lake.tables, dict.fromkeys(_APPS, generation))
        assert set(_told(known, DeltaTable(str(log.parent))).values()) == {generation}
    entries = [f"{number:020d}.json" for number in range(15)]
    assert storage.read == Counter(["_last_checkpoint", *entries])
    storage.read.clear()
    _told(TableGenerations(storage, str(log)), DeltaTable(str(log.parent)))
    assert sorted(storage.read) == [*entries[11:], "_last_checkpoint"]


def test_checkpoint_of_a_later_version_says_nothing_of_an_earlier_one(
    lake: Lake, log: Path
) -> None:
    for generation in range(1, 8):
        _commit(lake.tables, {_APPS[0]: generation})
    handle = DeltaTable(str(log.parent))
    handle.create_checkpoint()
    handle.load_as_version(4)
    found = TableGenerations(lake.storage, str(log)).at(4)
    assert found == {_APPS[0]: 4} == {_APPS[0]: handle.transaction_version(_APPS[0])}


def test_log_in_another_form_is_left_to_delta_rs(lake: Lake, log: Path) -> None:
    for generation in range(1, 13):
        _commit(lake.tables, {_APPS[0]: generation, _APPS[generation % 8]: generation})
    handle = DeltaTable(str(log.parent))
    handle.create_checkpoint()
    right = _right(handle)
    for path in log.glob("*.json"):
        path.unlink()
    whole = log / f"{12:020d}.checkpoint.parquet"
    whole.rename(log / f"{12:020d}.checkpoint.{1:010d}.{1:010d}.parquet")
    (log / f"{10:020d}.checkpoint.parquet").unlink()
    (log / "_last_checkpoint").write_text('{"version":12,"size":4,"parts":1}')
    handle = DeltaTable(str(log.parent))
    assert _told(TableGenerations(lake.storage, str(log)), handle) == right


def test_entries_that_expire_meanwhile_are_not_missed(lake: Lake, log: Path) -> None:
    known = TableGenerations(lake.storage, str(log))
    _commit(lake.tables, dict.fromkeys(_APPS, 1))
    _told(known, DeltaTable(str(log.parent)))
    for generation in range(2, 12):
        _commit(lake.tables, {_APPS[0]: generation})
    for number in range(10):
        (log / f"{number:020d}.json").unlink()
    handle = DeltaTable(str(log.parent))
    for _ in range(2):
        assert _told(known, handle) == {**dict.fromkeys(_APPS, 1), _APPS[0]: 11}
