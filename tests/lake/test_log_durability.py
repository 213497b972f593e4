"""What a driver makes durable of tables' logs, seen by a storage that notes what it syncs."""

import os
from collections.abc import Iterable
from pathlib import Path

from seglake.lake.delta_tables import LakeTables
from seglake.lake.table_commit import add_files
from seglake.lake.table_view import view_of
from seglake.lake.tables import GAPS
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import FileInfo
from support.lake_rows import Lake


class NotingStorage(LocalStorage):
    """Notes the names of the files that it syncs, and of entries that have a checkpoint by then."""

    def __init__(self) -> None:
        super().__init__()
        self.synced: list[str] = []
        self.late: set[str] = set()

    def sync(self, paths: Iterable[str]) -> None:
        given = [Path(path) for path in paths]
        self.synced += [path.name for path in given]
        with_checkpoint = (p for p in given if p.with_suffix(".checkpoint.parquet").exists())
        self.late |= {path.name for path in with_checkpoint}
        super().sync(map(str, given))


def test_a_driver_syncs_what_others_may_not_have_synced_once(lake: Lake) -> None:
    _commit(lake.tables, 3)
    driver = _Driver(lake)
    _commit(driver.tables, 1)
    assert driver.synced() == [_entry(number) for number in (4, 3, 2, 1, 0)]
    _commit(driver.tables, 1)
    assert driver.synced() == [_entry(5)]


def test_a_sync_goes_no_further_back_than_a_checkpoint(lake: Lake) -> None:
    _commit(lake.tables, 3)
    lake.tables.open(GAPS).create_checkpoint()
    _commit(lake.tables, 1)
    driver = _Driver(lake)
    _commit(driver.tables, 1)
    found = driver.synced()
    assert found == [*map(_entry, (5, 4, 3)), _checkpoint(3), "_last_checkpoint"]


def test_tenth_commit_writes_a_durable_checkpoint_and_expired_entries_go(lake: Lake) -> None:
    driver = _Driver(lake)
    log = lake.path / "gaps" / "_delta_log"
    _commit(driver.tables, 13)
    assert driver.synced().count(_checkpoint(10)) == 1
    for path in (log / _checkpoint(10), *(log / _entry(number) for number in range(12))):
        os.utime(path, (0, 0))
    _commit(driver.tables, 7)
    assert driver.synced()[-2:] == [_checkpoint(20), "_last_checkpoint"]
    assert driver.storage.late == set()
    assert sorted(path.name for path in log.iterdir())[:2] == [_checkpoint(10), _entry(10)]
    assert lake.tables.open(GAPS).version() == 20


def test_a_checkpoint_that_another_driver_writes_at_that_moment_ends_no_run(lake: Lake) -> None:
    class Overtaken(NotingStorage):
        def info(self, path: str) -> FileInfo | None:
            found = super().info(path)
            if found is None and Path(path).name == _checkpoint(10):
                lake.tables.open(GAPS).create_checkpoint()
                hint.unlink()  # the other driver writes it a moment later
            return found

    hint = lake.path / "gaps" / "_delta_log" / "_last_checkpoint"
    _commit(lake.tables, 9)
    storage = Overtaken()
    tables = LakeTables(str(lake.path), storage)
    _commit(tables, 1)
    assert _checkpoint(10) in storage.synced
    assert tables.open(GAPS).version() == 10


def test_delta_rs_writes_no_checkpoint_by_itself(lake: Lake) -> None:
    """It would do so before the log is durable."""
    lake.tables.open(GAPS).alter.set_table_properties({"delta.checkpointInterval": "2"})
    log = lake.path / "gaps" / "_delta_log"
    before = [*log.glob("*.checkpoint.parquet")]  # that of the properties' own commit
    _commit(_Driver(lake).tables, 6)
    assert [*log.glob("*.checkpoint.parquet")] == before


class _Driver:
    def __init__(self, lake: Lake) -> None:
        self.storage = NotingStorage()
        self.tables = LakeTables(str(lake.path), self.storage)

    def synced(self) -> list[str]:
        """The names of the files since the last call."""
        found, self.storage.synced = self.storage.synced, []
        return found


def _commit(tables: LakeTables, count: int) -> None:
    for _ in range(count):
        view = view_of(tables, GAPS)
        info = {"run_id": "run"}
        assert not add_files(view, [], now_ms=0, commit_info=info, generations={"a": 1})


def _entry(number: int) -> str:
    return f"{number:020d}.json"


def _checkpoint(number: int) -> str:
    return f"{number:020d}.checkpoint.parquet"
