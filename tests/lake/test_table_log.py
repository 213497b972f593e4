"""A table's log as it is read here: what delta-rs says of each version, and each app, is right."""

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from deltalake import DeltaTable, Schema
from deltalake.exceptions import DeltaError

from seglake.errors import SeglakeError
from seglake.lake.app_versions import app_id
from seglake.lake.delta_tables import LakeTables, state_of
from seglake.lake.errors import TornLogError
from seglake.lake.table_commit import add_files
from seglake.lake.table_creation import create_missing
from seglake.lake.table_log import TableLog, TableState
from seglake.lake.table_view import view_of
from seglake.lake.tables import GAPS, RECORDS, Table
from seglake.storage.errors import StorageError
from seglake.storage.local_storage import LocalStorage
from support.lake_drivers import commit
from support.lake_rows import SOURCE, Lake, lake_at, next_wave

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
    view = view_of(tables, GAPS)
    assert not add_files(view, [], now_ms=0, commit_info=said, generations=generations)


def _told(known: TableLog, handle: DeltaTable) -> dict[str, int]:
    found = known.at(handle.version()) or state_of(handle)
    return {app: found.generation(app) for app in _APPS}


def _facts(state: TableState | None) -> object:
    assert state is not None
    told = (state.version, state.protocol, list(state.partition_by), dict(state.settings))
    return told, Schema.from_json(state.schema_text), {app: state.generation(app) for app in _APPS}


def _right(handle: DeltaTable) -> dict[str, int]:
    return {app: handle.transaction_version(app) or 0 for app in _APPS}


@pytest.mark.parametrize("seed", range(4))
def test_they_are_those_of_every_version_of_any_log(lake: Lake, log: Path, seed: int) -> None:
    random = Random(seed)
    known = TableLog(lake.storage, str(log))
    generations = Counter[str]()
    for _ in range(25):
        moved = random.sample(_APPS, random.randint(0, len(_APPS)))
        generations.update(moved)
        _commit(lake.tables, {app: generations[app] for app in moved})
        handle = DeltaTable(str(log.parent))
        if random.random() < 0.2:
            handle.create_checkpoint()
        if random.random() < 0.2:
            handle.alter.set_table_properties(
                {"delta.logRetentionDuration": f"interval {random.randint(1, 9)} days"}
            )
        if random.random() < 0.3:
            assert _facts(known.newest()) == _facts(state_of(DeltaTable(str(log.parent))))
        if random.random() < 0.3:  # a view that is older than what is known
            handle.load_as_version(random.randint(0, handle.version()))
        if random.random() < 0.7:
            assert _told(known, handle) == _right(handle)
    handle = DeltaTable(str(log.parent))
    assert _told(TableLog(lake.storage, str(log)), handle) == _right(handle)
    assert _facts(TableLog(lake.storage, str(log)).newest()) == _facts(state_of(handle))
    assert _right(handle) == {app: generations[app] for app in _APPS}


def test_each_entry_is_read_once_whatever_the_number_of_topics(lake: Lake, log: Path) -> None:
    storage = CountingStorage()
    known = TableLog(storage, str(log))
    for generation in range(1, 15):
        _commit(lake.tables, dict.fromkeys(_APPS, generation))
        assert set(_told(known, DeltaTable(str(log.parent))).values()) == {generation}
    entries = [f"{number:020d}.json" for number in range(15)]
    assert storage.read == Counter(["_last_checkpoint", *entries])
    storage.read.clear()
    _told(TableLog(storage, str(log)), DeltaTable(str(log.parent)))
    assert sorted(storage.read) == [*entries[11:], "_last_checkpoint"]


def test_checkpoint_of_a_later_version_says_nothing_of_an_earlier_one(
    lake: Lake, log: Path
) -> None:
    for generation in range(1, 8):
        _commit(lake.tables, {_APPS[0]: generation})
    handle = DeltaTable(str(log.parent))
    handle.create_checkpoint()
    handle.load_as_version(4)
    found = TableLog(lake.storage, str(log)).at(4)
    assert found is not None
    assert found.generation(_APPS[0]) == 4 == handle.transaction_version(_APPS[0])


def test_log_in_another_form_is_left_to_delta_rs(
    lake: Lake, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert _told(TableLog(lake.storage, str(log)), handle) == right
    assert TableLog(lake.storage, str(log)).newest() is None
    opened: list[str] = []
    unchecked = LakeTables.unchecked

    def counted(tables: LakeTables, table: Table) -> DeltaTable:
        opened.append(table.name)
        return unchecked(tables, table)

    monkeypatch.setattr(LakeTables, "unchecked", counted)
    tables = lake_at(lake.path).tables
    for _ in range(3):
        assert _facts(tables.state(GAPS)) == _facts(state_of(handle))
    assert opened == [GAPS.name]


def test_store_that_failed_once_is_asked_again(
    lake: Lake, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = TableLog(lake.storage, str(log))
    assert known.newest() is not None
    _commit(lake.tables, dict.fromkeys(_APPS, 1))

    def fail(self: LocalStorage, path: str) -> bytes:
        raise StorageError(action="read", path=path, reason="timed out")

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "read_bytes", fail)
        assert known.newest() is None
    state = known.newest()
    assert state is not None
    assert state.generation(_APPS[0]) == 1


def test_entries_that_expire_meanwhile_are_not_missed(lake: Lake, log: Path) -> None:
    known = TableLog(lake.storage, str(log))
    _commit(lake.tables, dict.fromkeys(_APPS, 1))
    _told(known, DeltaTable(str(log.parent)))
    for generation in range(2, 12):
        _commit(lake.tables, {_APPS[0]: generation})
    for number in range(10):
        (log / f"{number:020d}.json").unlink()
    handle = DeltaTable(str(log.parent))
    for _ in range(2):
        assert _told(known, handle) == {**dict.fromkeys(_APPS, 1), _APPS[0]: 11}


def test_hint_so_old_that_the_entry_behind_it_has_expired_hides_nothing(
    lake: Lake, log: Path
) -> None:
    for generation in range(1, 11):
        _commit(lake.tables, {_APPS[0]: generation})
    hint = (log / "_last_checkpoint").read_bytes()
    for generation in range(11, 25):
        _commit(lake.tables, {_APPS[0]: generation})
    (log / "_last_checkpoint").write_bytes(hint)
    for version in range(15):
        (log / f"{version:020d}.json").unlink(missing_ok=True)
    assert TableLog(lake.storage, str(log)).newest() is None  # so delta-rs is asked
    assert lake_at(lake.path).tables.state(GAPS).generation(_APPS[0]) == 24


def test_no_file_of_the_table_is_looked_at(lake: Lake, log: Path) -> None:
    commit(lake, next_wave(lake, "orders", range(5)))
    path = lake.path / "records" / "_delta_log" / f"{1:020d}.json"
    lines = path.read_bytes().splitlines()
    assert any(line.startswith(b'{"add":') for line in lines)
    torn = [line[:12] if line.startswith(b'{"add":') else line for line in lines]
    path.write_bytes(b"\n".join(torn))
    state = TableLog(lake.storage, str(path.parent)).newest()
    assert state is not None
    assert (state.version, state.generation(app_id(SOURCE, "orders"))) == (1, 1)
    with pytest.raises(TornLogError):
        lake_at(lake.path).tables.state(RECORDS)


_METADATA = {
    "char": {"schemaString": '{"type":"struct","fields":[{"name":"a","type":"char(3)"}]}'},
    "no schema": {"schemaString": "nothing"},
    "a list": {"schemaString": "[]"},
    "no list": {"partitionColumns": None},
    "null": {"configuration": {"seglake.format": None}},
}


@pytest.mark.parametrize("entry", [b"", b"{", b"[]", b'{"metaData":{}}', b"\xff", *_METADATA])
def test_entry_that_is_none_is_refused(lake: Lake, log: Path, entry: bytes | str) -> None:
    if isinstance(entry, str):
        first = (log / f"{0:020d}.json").read_bytes().splitlines()
        [made] = [json.loads(line) for line in first if line.startswith(b'{"metaData"')]
        made["metaData"].update(_METADATA[entry])
        entry = json.dumps(made).encode()
    (log / f"{1:020d}.json").write_bytes(entry)
    for look in (lake_at(lake.path).tables.state, lambda _: create_missing(lake.tables)):
        with pytest.raises(SeglakeError):
            look(GAPS)


def test_entries_of_other_writers_say_the_same_in_any_form(lake: Lake, log: Path) -> None:
    for generation in range(1, 5):
        _commit(lake.tables, dict.fromkeys(_APPS[:generation], generation))
    right = _facts(state_of(DeltaTable(str(log.parent))))
    for path in log.glob("*.json"):
        actions = [json.loads(line) for line in path.read_text().splitlines()]
        lines = [json.dumps(action, indent=None, separators=(" , ", " : ")) for action in actions]
        path.write_text("\n" + "\r\n".join(reversed(lines)) + "\n\n")
    assert _facts(TableLog(lake.storage, str(log)).newest()) == right


@pytest.mark.parametrize("entry", [b'{"txn":{}}', b'{"txn":7}'])
def test_generations_that_delta_rs_does_not_take_are_not_taken(
    lake: Lake, log: Path, entry: bytes
) -> None:
    _commit(lake.tables, dict.fromkeys(_APPS, 1))
    (log / f"{2:020d}.json").write_bytes(entry)
    for state in (state_of(DeltaTable(str(log.parent))), lake_at(lake.path).tables.state(GAPS)):
        with pytest.raises(DeltaError):
            state.generation(_APPS[0])
