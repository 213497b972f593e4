import dataclasses
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seglake.lake import column_encodings
from seglake.lake.errors import SchemaError, TimestampRangeError
from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.tables import GAPS, RECORDS, TABLES, Table
from seglake.lake.typed_tables import PLACE_FIELDS, typed_table
from seglake.storage.errors import StorageError
from seglake.storage.local_storage import LocalStorage
from support.lake_rows import Lake, lake_at, rows, write_file


@pytest.fixture
def place(tmp_path: Path) -> Lake:
    """A lake's folder without tables: data files need none."""
    return lake_at(tmp_path / "lake")


def path_of(place: Lake, file: DataFile) -> Path:
    return place.path / file.table / file.path


def statistics_of(place: Lake, file: DataFile) -> dict[str, object]:
    """The same numbers, counted again from the file by Polars."""
    found = pl.read_parquet(path_of(place, file), hive_partitioning=False)
    names = next(table for table in TABLES if table.name == file.table).statistics_columns
    least, greatest = {}, {}
    for name in names:
        column = found[name]
        if column.null_count() == len(column):
            continue
        least[name], greatest[name] = column.min(), column.max()
        if isinstance(column.dtype, pl.Datetime):
            shown = column.sort(nulls_last=True).dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
            count = len(column) - column.null_count()
            least[name], greatest[name] = shown[0], shown[count - 1]
    return {
        "numRecords": len(found),
        "minValues": least,
        "maxValues": greatest,
        "nullCount": {name: found[name].null_count() for name in names},
    }


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_file_holds_what_was_written(place: Lake, table: Table) -> None:
    first, second = rows(table, "orders", range(5)), rows(table, "orders", range(5, 7))
    file = write_file(place, table, "orders", first, second)
    written = pq.ParquetFile(path_of(place, file))
    assert written.read() == pa.Table.from_batches([first, second])
    assert written.schema_arrow.remove_metadata() == table.file_schema
    assert written.metadata.num_row_groups == 2
    assert (file.table, file.topic, file.row_count) == (table.name, "orders", 7)
    assert file.size_bytes == path_of(place, file).stat().st_size


def test_partitioned_file_lies_in_its_topics_folder(place: Lake) -> None:
    records = write_file(place, RECORDS, "a.b_c-d", rows(RECORDS, "a.b_c-d", range(1)))
    gaps = write_file(place, GAPS, "a.b_c-d", rows(GAPS, "a.b_c-d", range(1)))
    assert Path(records.path).parent == Path("topic=a.b_c-d")
    assert Path(gaps.path).parent == Path()


def test_views_and_dictionaries_are_stored_as_plain_types(place: Lake) -> None:
    offsets = range(3)
    batch = rows(
        RECORDS,
        "orders",
        offsets,
        key=pa.array([b"k", None, b""], pa.binary_view()),
        value=pa.array([b"a value longer than twelve bytes", b"", None], pa.binary_view()),
        partition=pa.array([7, 7, 7], pa.int32()).dictionary_encode(),
        source_id=pa.array(["s", "s", None]).dictionary_encode(),
        batch_base_offset=pa.array([5, None, 5]).dictionary_encode(),
    )
    file = write_file(place, RECORDS, "orders", batch)
    written = pq.ParquetFile(path_of(place, file))
    assert written.schema_arrow.remove_metadata() == RECORDS.file_schema
    found = written.read().to_pydict()
    assert found["key"] == [b"k", None, b""]
    assert found["value"] == [b"a value longer than twelve bytes", b"", None]
    assert found["source_id"] == ["s", "s", None]
    assert json.loads(file.statistics_json) == statistics_of(place, file)


def test_null_inside_a_dictionary_is_refused(place: Lake) -> None:
    column = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 0], pa.int32()), pa.array([None, 4], pa.int64())
    )
    with pytest.raises(SchemaError, match="batch_base_offset has a null inside its dictionary"):
        write_file(place, RECORDS, "t", rows(RECORDS, "t", range(3), batch_base_offset=column))


def test_headers_keep_order_doubles_nulls_and_empties(place: Lake) -> None:
    headers = [
        None,
        [{"key": "a", "value": b"1"}, {"key": "a", "value": None}, {"key": "", "value": b""}],
    ]
    file = write_file(place, RECORDS, "t", rows(RECORDS, "t", range(2), headers=headers))
    assert pq.ParquetFile(path_of(place, file)).read()["headers"].to_pylist() == headers


def test_statistics_equal_a_recount(place: Lake) -> None:
    batches = [
        rows(RECORDS, "t", range(10, 20)),
        rows(RECORDS, "t", range(3), timestamp=None, timestamp_ms=[None, -5, 2**62]),
        rows(RECORDS, "t", range(500, 501), batch_base_offset=None),
    ]
    file = write_file(place, RECORDS, "t", *batches)
    assert json.loads(file.statistics_json) == statistics_of(place, file)


def test_column_of_nulls_has_no_bounds(place: Lake) -> None:
    file = write_file(place, RECORDS, "t", rows(RECORDS, "t", range(4), timestamp=None))
    statistics = json.loads(file.statistics_json)
    assert "timestamp" not in statistics["minValues"]
    assert "timestamp" not in statistics["maxValues"]
    assert statistics["nullCount"]["timestamp"] == 4


def test_timestamp_bounds_never_exclude_a_microsecond(place: Lake) -> None:
    moments = [
        datetime(1969, 12, 31, 23, 59, 59, 999_001, UTC),
        datetime(2024, 1, 1, 0, 0, 0, 1, UTC),
    ]
    file = write_file(place, RECORDS, "t", rows(RECORDS, "t", range(2), timestamp=moments))
    statistics = json.loads(file.statistics_json)
    assert statistics["minValues"]["timestamp"] == "1969-12-31T23:59:59.999Z"
    assert statistics["maxValues"]["timestamp"] == "2024-01-01T00:00:00.001Z"


def test_first_and_last_year_have_four_digits(place: Lake) -> None:
    moments = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)]
    file = write_file(place, RECORDS, "t", rows(RECORDS, "t", range(2), timestamp=moments))
    statistics = json.loads(file.statistics_json)
    assert statistics["minValues"]["timestamp"] == "0001-01-01T00:00:00.000Z"
    assert statistics["maxValues"]["timestamp"] == "9999-12-31T23:59:59.999Z"


def test_bound_that_would_need_the_year_10000_is_left_out(place: Lake) -> None:
    moments = [datetime(9999, 12, 31, 23, 59, 59, 999_001, UTC)]
    file = write_file(place, RECORDS, "t", rows(RECORDS, "t", range(1), timestamp=moments))
    statistics = json.loads(file.statistics_json)
    assert "timestamp" in statistics["minValues"]
    assert "timestamp" not in statistics["maxValues"]


@pytest.mark.parametrize("timestamp_us", [-62_135_596_800_000_001, 253_402_300_800_000_000])
def test_timestamp_outside_the_years_is_refused(place: Lake, timestamp_us: int) -> None:
    column = pa.array([timestamp_us], pa.int64()).cast(pa.timestamp("us", "UTC"))
    with (
        ParquetFile(place.storage, str(place.path), RECORDS, "t") as file,
        pytest.raises(TimestampRangeError, match=f"holds {timestamp_us} us"),
    ):
        file.write(rows(RECORDS, "t", range(1), timestamp=column))


def test_wrong_columns_are_refused_before_anything_is_written(place: Lake) -> None:
    batch = rows(RECORDS, "t", range(2)).drop_columns(["key", "offset"])
    with (
        ParquetFile(place.storage, str(place.path), RECORDS, "t") as file,
        pytest.raises(SchemaError, match="column key is missing; column offset is missing"),
    ):
        file.write(batch)
    assert not place.path.exists()


def test_columns_may_not_change_their_arrow_type_within_a_file(place: Lake) -> None:
    plain = rows(RECORDS, "t", range(1))
    viewed = rows(RECORDS, "t", range(1), key=pa.array([b"k"], pa.binary_view()))
    with ParquetFile(place.storage, str(place.path), RECORDS, "t") as file:
        file.write(plain)
        with pytest.raises(SchemaError, match=r"column key was binary .* is now binary_view"):
            file.write(viewed)


def test_file_without_rows_does_not_come_into_being(place: Lake) -> None:
    with ParquetFile(place.storage, str(place.path), RECORDS, "t") as file:
        file.write(rows(RECORDS, "t", range(0)))
        assert file.close() is None
    assert not place.path.exists()


def test_error_in_the_block_leaves_no_file(place: Lake) -> None:
    def fails() -> None:
        with ParquetFile(place.storage, str(place.path), RECORDS, "t") as file:
            file.write(rows(RECORDS, "t", range(2)))
            raise KeyError("the task's own trouble")

    with pytest.raises(KeyError):
        fails()
    assert [path for path in place.path.rglob("*") if path.is_file()] == []


class FullDisk(LocalStorage):
    """A disk that takes no byte."""

    def open_output(self, path: str) -> BinaryIO:
        super().open_output(path).close()
        return Path("/dev/full").open("wb", buffering=self.buffering)

    def __init__(self, buffering: int) -> None:
        self.buffering = buffering


@pytest.mark.parametrize("buffering", [0, 1 << 20], ids=["at the first byte", "at the end"])
def test_full_disk_is_named_and_leaves_no_file(place: Lake, buffering: int) -> None:
    full = dataclasses.replace(place, storage=FullDisk(buffering))
    with pytest.raises(StorageError, match="No space left on device"):
        write_file(full, GAPS, "t", rows(GAPS, "t", range(2)))
    assert [path for path in place.path.rglob("*") if path.is_file()] == []


def test_encodings_are_the_measured_ones(place: Lake) -> None:
    file = write_file(place, RECORDS, "t", rows(RECORDS, "t", range(100)))
    group = pq.ParquetFile(path_of(place, file)).metadata.row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    for name in ("offset", "timestamp", "timestamp_ms"):
        assert "DELTA_BINARY_PACKED" in columns[name].encodings
    for name in ("key", "value", "headers.list.element.value"):
        assert "RLE_DICTIONARY" not in columns[name].encodings
        assert not columns[name].is_stats_set
    for name in ("partition", "source_id", "batch_base_offset", "headers.list.element.key"):
        assert "RLE_DICTIONARY" in columns[name].encodings
    for name in ("offset", "timestamp", "timestamp_ms"):
        statistics = columns[name].statistics
        assert statistics is not None
        assert statistics.has_min_max
    assert {column.compression for column in columns.values()} == {"ZSTD"}


def test_columns_of_distinct_values_have_no_dictionary(place: Lake) -> None:
    distinct, few = range(5000), [number % 3 for number in range(5000)]
    columns: dict[str, Any] = {
        "number": pa.array(distinct),
        "price": pa.array([number / 7 for number in distinct]),
        "text": pa.array([f"note {number}" for number in distinct]),
        "kind": pa.array([f"kind {number}" for number in few]),
        "stars": pa.array(few),
        "items": pa.array([[{"at": number}] for number in distinct]),
        "inner": pa.array(
            [{"id": number, "kind": "a"} if number % 2 else None for number in distinct]
        ),
        "counts": pa.array(
            [{f"key {number}": 1} for number in distinct], pa.map_(pa.string(), pa.int32())
        ),
    }
    fields = [pa.field(name, values.type) for name, values in columns.items()]
    table = typed_table("typed/t", ("t", "", "none", "json"), fields).table
    batch = pa.RecordBatch.from_arrays(
        [
            columns.get(name) or pa.nulls(5000, table.schema.field(name).type)
            for name in table.schema.names
        ],
        schema=table.schema,
    )
    file = write_file(place, table, "t", batch)
    group = pq.ParquetFile(path_of(place, file)).metadata.row_group(0)
    found = {
        group.column(i).path_in_schema: group.column(i).encodings for i in range(group.num_columns)
    }
    with_dictionary = {name for name, encodings in found.items() if "RLE_DICTIONARY" in encodings}
    assert {name for name in with_dictionary if not name.startswith("_")} == {
        *("kind", "stars", "inner.kind", "counts.key_value.value"),
    }
    for name in ("number", "items.list.element.at", "inner.id"):
        assert "DELTA_BINARY_PACKED" in found[name]
    assert (
        pq.read_table(path_of(place, file)).column("inner").to_pylist()
        == columns["inner"].to_pylist()
    )


@pytest.mark.parametrize(
    "module",
    ["seglake.storage.storage", "seglake.lake.parquet_files", "seglake.task_engine.engine"],
)
def test_what_workers_import_brings_neither_delta_nor_spark(module: str) -> None:
    program = f"import sys, {module}; print(sorted({{'deltalake', 'pyspark'}} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_storage_needs_no_arrow() -> None:
    program = "import sys, seglake.storage.storage; print('pyarrow' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_columns_that_are_written_otherwise_are_those_of_tables() -> None:
    named = [*column_encodings._DELTA_COLUMNS.items(), *column_encodings._PLAIN_COLUMNS.items()]
    tables = {table.name: table.schema for table in TABLES}
    tables |= {"typed": pa.schema(PLACE_FIELDS)}
    for table, columns in named:
        assert {path.split(".")[0] for path in columns.split()} <= {*tables[table].names}
