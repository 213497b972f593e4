"""Readers skip files by our statistics; what they then return must be what is there."""

from datetime import UTC, datetime, timedelta

import duckdb
import polars as pl
import pyarrow.dataset as ds
import pytest

from seglake.lake.tables import CHECKPOINTS, RECORDS
from seglake.lake.waves import TopicWave
from support.lake_drivers import commit
from support.lake_rows import NOW_MS, Lake, new_lake, next_wave, rows, write_file

START = datetime.fromtimestamp(NOW_MS / 1000, UTC)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Four files of records: three of a hundred offsets each, one without timestamps."""
    lake = new_lake(tmp_path_factory.mktemp("filled") / "lake")
    for start in (0, 100, 200):
        commit(lake, next_wave(lake, "orders", range(start, start + 100)))
    batch = rows(RECORDS, "orders", range(300, 400), timestamp=None, timestamp_ms=None)
    last = TopicWave("orders", 4, (write_file(lake, RECORDS, "orders", batch),))
    commit(lake, last)
    return lake


CONDITIONS = [
    ("offset", "=", 100),
    ("offset", ">=", 250),
    ("offset", "<", 100),
    ("offset", ">", 399),
    ("timestamp", ">", START + timedelta(milliseconds=150)),
    ("timestamp", "<=", START),
    ("timestamp", "=", START + timedelta(milliseconds=199)),
    ("timestamp", ">", START + timedelta(milliseconds=299)),
    ("partition", "=", 2),
    ("partition", "<", 2),
    ("timestamp_ms", ">=", 50),
]


def as_text(value: object) -> str:
    return f"TIMESTAMPTZ '{value}'" if isinstance(value, datetime) else str(value)


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda c: f"{c[0]} {c[1]}")
def test_filtered_reads_return_what_unfiltered_ones_hold(
    filled: Lake, condition: tuple[str, str, object]
) -> None:
    name, operator, value = condition
    uri = filled.tables.path(RECORDS)
    everything = filled.tables.open(RECORDS).to_pyarrow_table()
    spoken = {"=": "eq", ">": "gt", ">=": "ge", "<": "lt", "<=": "le"}[operator]
    rows_in_memory = pl.from_arrow(everything.select(sorted({"offset", name})))
    assert isinstance(rows_in_memory, pl.DataFrame)
    wanted = getattr(pl.col(name), spoken)(value)
    expected = sorted(rows_in_memory.filter(wanted)["offset"].to_list())

    by_polars = pl.scan_delta(uri).filter(wanted).select("offset").collect()
    assert sorted(by_polars["offset"].to_list()) == expected

    records = filled.tables.open(RECORDS).to_pyarrow_dataset()
    with duckdb.connect() as connection:
        connection.register("records", records)
        query = f'select "offset" from records where "{name}" {operator} {as_text(value)}'
        by_duckdb = connection.execute(query).fetchall()
    assert sorted(row[0] for row in by_duckdb) == expected

    compared = getattr(ds.field(name), f"__{spoken}__")(value)
    by_arrow = records.to_table(filter=compared, columns=["offset"])
    assert by_arrow["offset"].sort().to_pylist() == expected

    by_delta = filled.tables.open(RECORDS).to_pyarrow_table(filters=[condition])
    assert by_delta["offset"].sort().to_pylist() == expected


@pytest.mark.parametrize(
    ("condition", "file_count"),
    [
        (("offset", ">=", 250), 2),
        (("offset", "=", 100), 1),
        (("offset", ">", 399), 0),
        (("partition", "=", 3), 0),
        (("topic", "=", "orders"), 4),
        (("topic", "=", "clicks"), 0),
    ],
    ids=str,
)
def test_files_that_cannot_match_are_skipped(
    filled: Lake, condition: tuple[str, str, object], file_count: int
) -> None:
    found = filled.tables.open(RECORDS).file_uris(file_pruning_predicate=[condition])
    assert len(found) == file_count


def test_polars_and_arrow_see_the_contracts_columns_in_order(filled: Lake) -> None:
    uri = filled.tables.path(RECORDS)
    assert pl.scan_delta(uri).collect_schema().names() == RECORDS.schema.names
    assert filled.tables.open(RECORDS).to_pyarrow_dataset().schema.names == RECORDS.schema.names


def test_log_has_the_statistics_of_every_file(filled: Lake) -> None:
    actions = pl.DataFrame(filled.tables.open(CHECKPOINTS).get_add_actions(flatten=True))
    assert actions["num_records"].to_list() == [100, 100, 100]
    assert sorted(actions["min.start_offset"].to_list()) == [0, 100, 200]
    assert sorted(actions["max.start_offset"].to_list()) == [99, 199, 299]
