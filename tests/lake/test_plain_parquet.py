"""A finished lake becomes plain folders: what was committed stays, and nothing else."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from seglake.lake.lake_folder import SUCCESS
from seglake.lake.plain_parquet import check_is_empty, to_plain_parquet
from seglake.lake.tables import BATCHES, CONSUMER_OFFSETS, RECORDS, TABLES
from seglake.storage.errors import LakeFolderError, StorageError
from seglake.storage.local_storage import LocalStorage
from support.lake_drivers import commit
from support.lake_rows import Lake, wave


def _check(path: Path) -> None:
    check_is_empty(LocalStorage(), str(path))


def test_only_committed_files_are_left(lake: Lake) -> None:
    mine = wave(lake, "orders", 1, range(3))
    commit(lake, mine)
    wave(lake, "orders", 2, range(3, 6))  # of an attempt that was lost
    to_plain_parquet(lake.tables, is_whole=True)
    assert {str(path.relative_to(lake.path)) for path in lake.path.rglob("*.parquet")} == {
        "observations/empty.parquet",
        "salvaged_records/empty.parquet",
        *(f"{file.table}/{file.path}" for file in mine.files),
    }
    assert (lake.path / SUCCESS).is_file()
    assert list(lake.path.rglob("*.json")) == []
    assert not Path(lake.tables.work_folder).exists()


def test_a_table_without_rows_shows_its_columns_unless_it_is_of_internal_topics(
    lake: Lake,
) -> None:
    to_plain_parquet(lake.tables, is_whole=True)
    for table in TABLES:
        files = list((lake.path / table.name).rglob("*"))
        assert [pq.read_schema(file).names for file in files] == (
            [table.schema.names] if not table.topics else []
        )
    assert not (lake.path / CONSUMER_OFFSETS.name).exists()


def test_what_is_not_whole_has_no_mark(lake: Lake) -> None:
    to_plain_parquet(lake.tables, is_whole=False)
    assert not (lake.path / SUCCESS).exists()


def test_a_folder_that_is_empty_or_not_there_may_be_taken(tmp_path: Path) -> None:
    _check(tmp_path)
    _check(tmp_path / "none")


def test_what_a_folder_holds_is_said_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / RECORDS.name).mkdir()
    with pytest.raises(LakeFolderError, match="it has records, but"):
        _check(tmp_path)
    (tmp_path / SUCCESS).touch()
    with pytest.raises(LakeFolderError, match="it has a conversion to Parquet, but"):
        _check(tmp_path)
    with pytest.raises(LakeFolderError, match="it is a file"):
        _check(tmp_path / SUCCESS)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [SUCCESS, RECORDS.name]


def test_a_committed_file_that_is_gone_stops_it_before_anything_is_deleted(lake: Lake) -> None:
    mine = wave(lake, "orders", 1, range(3))
    commit(lake, mine)
    (gone,) = (lake.path / BATCHES.name).rglob("*.parquet")
    gone.unlink()
    before = sorted(lake.path.rglob("*"))
    with pytest.raises(StorageError, match="it is committed but not listed"):
        to_plain_parquet(lake.tables, is_whole=True)
    assert sorted(lake.path.rglob("*")) == before
