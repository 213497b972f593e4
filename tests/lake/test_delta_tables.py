import json
import shutil
import threading
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

import seglake
from seglake.lake.app_versions import app_id
from seglake.lake.delta_commit import versions
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import NotALakeError, SchemaError, TableRefusedError, UnsafeStoreError
from seglake.lake.lake_format import FORMAT
from seglake.lake.table_creation import create_missing
from seglake.lake.table_log import TableLog
from seglake.lake.table_view import read_snapshots
from seglake.lake.tables import BATCHES, CHECKPOINTS, GAPS, RECORDS, TABLES, Table
from seglake.storage.errors import LakeFolderError, StorageError
from seglake.storage.local_storage import LocalStorage
from support.lake_drivers import commit, create_together
from support.lake_rows import SOURCE, Lake, lake_at, new_lake, next_wave
from support.processes import young


def test_tables_are_made_with_the_oldest_protocol_and_append_only(lake: Lake) -> None:
    for table in TABLES:
        handle = DeltaTable(lake.tables.path(table))
        protocol = handle.protocol()
        assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
        assert handle.metadata().partition_columns == list(table.partition_by)
        assert handle.metadata().configuration == {
            "delta.appendOnly": "true",
            "delta.dataSkippingStatsColumns": ",".join(table.statistics_columns),
            "seglake.format": f"{FORMAT}",
            "seglake.version": seglake.__version__,
        }


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_readers_see_the_columns_in_the_contracts_order(lake: Lake, table: Table) -> None:
    names = [field.name for field in DeltaTable(lake.tables.path(table)).schema().fields]
    assert names == table.schema.names


def test_looking_for_a_lake_touches_nothing(tmp_path: Path) -> None:
    lake = lake_at(tmp_path / "lake")
    assert not lake.tables.exists()
    with pytest.raises(NotALakeError, match="is not a lake: it has no table records"):
        lake.tables.open(RECORDS)
    assert list(tmp_path.iterdir()) == []


def test_creating_is_repeatable(lake: Lake) -> None:
    assert lake.tables.exists()
    create_missing(lake.tables)
    assert [lake.tables.open(table).version() for table in TABLES] == [0] * len(TABLES)


class _Unsafe(LocalStorage):
    """A store that lets two runs write one file of the log."""

    def creates_exclusively(self, folder: str) -> bool:
        return False


def test_store_that_could_lose_commits_is_refused_for_an_old_lake_too(lake: Lake) -> None:
    storage = _Unsafe()
    for path in (lake.tables.lake_path, storage.join(lake.tables.lake_path, "new")):
        tables = LakeTables(path, storage)
        with pytest.raises(UnsafeStoreError):
            create_missing(tables)
    create_missing(LakeTables(lake.tables.lake_path, storage), is_single_writer=True)


def test_path_with_strange_characters_works(tmp_path: Path) -> None:
    lake = new_lake(tmp_path / "a lake ü#?+=&")
    assert commit(lake, next_wave(lake, "orders", range(2))) == (("orders",), ())
    assert lake.tables.ledger(SOURCE).num_rows == 2


def test_path_with_a_percent_sign_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LakeFolderError, match="its name has a percent sign"):
        new_lake(tmp_path / "100%25")
    assert list(tmp_path.iterdir()) == []


def test_creation_that_was_cut_off_is_completed(lake: Lake) -> None:
    shutil.rmtree(lake.path / "checkpoints")
    shutil.rmtree(lake.path / "gaps" / "_delta_log")
    (lake.path / "gaps" / "_delta_log").mkdir()
    next_run = LakeTables(lake.tables.lake_path, lake.tables.storage)
    assert not next_run.exists()
    create_missing(next_run)
    assert next_run.exists()


def test_several_drivers_create_one_lake(tmp_path: Path) -> None:
    barrier = young().Barrier(3)
    drivers = [
        young().Process(target=create_together, args=(tmp_path / "lake", barrier)) for _ in range(3)
    ]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join()
    assert [driver.exitcode for driver in drivers] == [0, 0, 0]
    tables = lake_at(tmp_path / "lake").tables
    assert [tables.open(table).version() for table in TABLES] == [0] * len(TABLES)


def test_file_in_the_lakes_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file")
    with pytest.raises(LakeFolderError, match="is a file"):
        create_missing(lake_at(tmp_path / "lake").tables)


def test_folder_of_something_else_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    with pytest.raises(LakeFolderError, match="it holds orders-0"):
        create_missing(lake_at(tmp_path).tables)
    assert [path.name for path in tmp_path.iterdir()] == ["orders-0"]


def test_folder_named_like_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "notes.txt").touch()
    with pytest.raises(LakeFolderError, match=r"records holds notes\.txt and is not a table"):
        create_missing(lake_at(tmp_path).tables)


def test_hidden_files_beside_the_tables_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / ".DS_Store").touch()
    assert new_lake(tmp_path).tables.exists()


def test_lake_that_lost_a_table_is_refused(lake: Lake) -> None:
    commit(lake, next_wave(lake, "orders", range(2)))
    shutil.rmtree(lake.path / "gaps")
    with pytest.raises(LakeFolderError, match="it has lost the table gaps"):
        create_missing(lake.tables)
    assert not (lake.path / "gaps").exists()


def test_table_with_other_columns_is_refused(lake: Lake) -> None:
    shutil.rmtree(lake.path / "gaps")
    DeltaTable.create(lake.tables.path(GAPS), schema=pa.schema([("source_id", pa.int64())]))
    with pytest.raises(SchemaError, match="column topic is missing"):
        create_missing(lake.tables)


_FOREIGN_SETTINGS = {
    "delta.columnMapping.mode": "name",
    "delta.constraints.some": "offset > 0",
    "delta.setTransactionRetentionDuration": "interval 1 days",
    "delta.enableChangeDataFeed": "true",
    "delta.enableDeletionVectors": "true",
    "delta.enableIcebergCompatV2": "true",
    "delta.enableTypeWidening": "true",
}


def rewrite_log(lake: Lake, table: Table, action: str, change: dict[str, object]) -> None:
    """Change one action of a table's first log entry, as another writer could have made it."""
    path = Path(lake.tables.log_entry_path(table, 0))
    actions = [json.loads(line) for line in path.read_text().splitlines()]
    for found in actions:
        if action in found:
            found[action].update(change)
    path.write_text("".join(json.dumps(found) + "\n" for found in actions))


@pytest.mark.parametrize(
    ("action", "change", "reason"),
    [
        ("protocol", {"minWriterVersion": 4}, "reader 1, writer 4"),
        ("protocol", {"minReaderVersion": 2, "minWriterVersion": 5}, "reader 2, writer 5"),
        ("metaData", {"partitionColumns": ["source_id"]}, "partitioned by"),
        *(
            ("metaData", {"configuration": {name: value}}, f"it has the setting {name}")
            for name, value in _FOREIGN_SETTINGS.items()
        ),
    ],
)
def test_table_with_a_feature_we_do_not_write_is_refused(
    lake: Lake, action: str, change: dict[str, object], reason: str
) -> None:
    rewrite_log(lake, GAPS, action, change)
    with pytest.raises(TableRefusedError, match=f"table gaps .*{reason}"):
        lake.tables.open(GAPS)


@pytest.mark.parametrize(
    ("metadata", "nullable", "reason"),
    [
        ({"delta.generationExpression": "1"}, True, "generationExpression"),
        ({"delta.invariants": "{}"}, True, "invariants"),
        ({}, False, "must be nullable"),
    ],
)
def test_column_that_is_more_than_its_values_is_refused(
    lake: Lake, metadata: dict[str, str], nullable: bool, reason: str
) -> None:
    entry = Path(lake.tables.log_entry_path(GAPS, 0)).read_text().splitlines()
    actions = [json.loads(line) for line in entry]
    made = next(action["metaData"] for action in actions if "metaData" in action)
    schema = json.loads(made["schemaString"])
    schema["fields"][3].update(metadata=metadata, nullable=nullable)
    rewrite_log(lake, GAPS, "metaData", {"schemaString": json.dumps(schema)})
    with pytest.raises((TableRefusedError, SchemaError), match=reason):
        lake.tables.open(GAPS)


def test_table_is_read_as_it_is_now_and_opened_for_a_commit_as_it_was(lake: Lake) -> None:
    own, read = lake.tables.open(RECORDS), lake.tables.newest(RECORDS)
    commit(lake_at(lake.path), next_wave(lake, "orders", range(2)))
    app = app_id(SOURCE, "orders")
    assert lake.tables.newest(RECORDS) is read
    assert lake.tables.generation(RECORDS, read, app) == 1
    assert [len(handle.file_uris()) for handle in (own, read)] == [0, 1]
    assert lake.tables.generation(RECORDS, own, app) == 0


def test_damaged_file_of_the_ledger_is_named(lake: Lake) -> None:
    commit(lake, next_wave(lake, "orders", range(3)))
    (path,) = lake.tables.file_paths(CHECKPOINTS)
    Path(path).write_bytes(Path(path).read_bytes()[:-8])
    with pytest.raises(StorageError, match=f"cannot read {path}: Parquet magic bytes not found"):
        lake.tables.ledger(SOURCE)


def test_table_is_opened_anew_where_the_store_is_reached_otherwise_now(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = lake.tables.newest(RECORDS)
    options = {"timeout": "30s"}  # on HDFS: another name node is active
    monkeypatch.setattr(lake.tables.storage, "delta_options", lambda path: options)
    assert lake.tables.newest(RECORDS) is not read


def test_table_made_again_is_read_once_its_handle_is_forgotten(lake: Lake) -> None:
    young = lake_at(shutil.copytree(lake.path, Path(lake.path).with_name("young")))
    commit(lake, next_wave(lake, "orders", range(2)))
    assert lake.tables.newest(RECORDS).version() == 1
    shutil.rmtree(lake.tables.path(RECORDS))
    shutil.copytree(young.tables.path(RECORDS), lake.tables.path(RECORDS))
    lake.tables.forget_handles()
    assert lake.tables.newest(RECORDS).version() == 0


def test_table_that_another_writer_changed_since_it_was_read_is_refused(lake: Lake) -> None:
    assert lake.tables.newest(GAPS).version() == 0
    properties = {"delta.enableChangeDataFeed": "true"}
    DeltaTable(lake.tables.path(GAPS)).alter.set_table_properties(properties)
    with pytest.raises(TableRefusedError, match="enableChangeDataFeed"):
        lake.tables.newest(GAPS)


def test_ledger_has_the_rows_of_one_source_with_the_tables_columns(lake: Lake) -> None:
    assert lake.tables.ledger(SOURCE).num_rows == 0
    commit(lake, next_wave(lake, "orders", range(3)))
    commit(lake, next_wave(lake, "orders", range(3, 5)))
    ledger = lake.tables.ledger(SOURCE)
    assert ledger.schema == CHECKPOINTS.schema
    assert Counter(ledger["start_offset"].to_pylist()) == Counter(range(5))
    assert Counter(ledger["generation"].to_pylist()) == {1: 3, 2: 2}
    assert lake.tables.ledger("other").num_rows == 0
    assert lake.tables.ledger("o'ther").num_rows == 0


def test_rows_are_read_from_the_files_that_may_hold_them(lake: Lake) -> None:
    for offsets in (range(10), range(10, 20), range(20, 30)):
        commit(lake, next_wave(lake, "orders", offsets))
    commit(lake, next_wave(lake, "payments", range(12, 15)))
    found = lake.tables.rows(
        BATCHES,
        SOURCE,
        ["base_offset"],
        topic="orders",
        pruned_by=[("base_offset", "<=", 12), ("last_offset", ">=", 12)],
    )
    assert found.column_names == ["base_offset"]
    assert Counter(found.column(0).to_pylist()) == Counter(range(10, 20))
    assert lake.tables.rows(BATCHES, "another", ["base_offset"]).num_rows == 0
    assert lake.tables.rows(BATCHES, SOURCE, ["base_offset"]).num_rows == 33


def test_lake_that_lost_a_table_is_none_to_be_read(lake: Lake) -> None:
    LakeTables(lake.tables.lake_path, lake.tables.storage).require()
    shutil.rmtree(lake.path / "gaps")
    with pytest.raises(NotALakeError, match="is not a lake: it has no table gaps"):
        LakeTables(lake.tables.lake_path, lake.tables.storage).require()


def test_log_that_cannot_be_read_is_told_as_the_storages_doing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    (snapshot,) = read_snapshots(lake.tables, [RECORDS]).values()

    def fail(self: DeltaTable, app: str) -> int:
        raise DeltaError("Kernel error: no answer")

    monkeypatch.setattr(TableLog, "_read_up_to", lambda self, version: None)
    monkeypatch.setattr(DeltaTable, "transaction_version", fail)
    with pytest.raises(StorageError, match=r"cannot read the log of .*: Kernel error: no answer"):
        versions(lake.tables, SOURCE, ["orders"])
    with pytest.raises(StorageError, match="no answer"):
        snapshot.generation(app_id(SOURCE, "orders"))


def test_one_table_is_opened_before_the_others(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a remote lake it imports what threads need: obstore's modules import each other."""
    monkeypatch.setattr(LocalStorage, "requests_at_once", lambda *_: len(TABLES))
    opened: list[tuple[str, int]] = []
    looked = LakeTables.unchecked_state

    def noted(tables: LakeTables, table: Table) -> object:
        state = looked(tables, table)
        opened.append((table.name, threading.get_ident()))
        return state

    monkeypatch.setattr(LakeTables, "unchecked_state", noted)
    create_missing(lake.tables)
    assert opened[0] == (GAPS.name, threading.get_ident())
    assert {name for name, _ in opened} == {table.name for table in TABLES}
    assert threading.get_ident() not in [thread for _, thread in opened[1:]]
