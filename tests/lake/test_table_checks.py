"""Columns are those of a table, or every difference is named."""

from typing import Any

import pyarrow as pa
import pytest

from seglake.lake.errors import SchemaError
from seglake.lake.table_checks import check, check_whole
from seglake.lake.tables import GAPS, RECORDS, TABLES, Table


def columns_of(schema: pa.Schema) -> "list[pa.Field[Any]]":  # Any: a column of whatever type
    return [schema.field(index) for index in range(len(schema))]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_own_columns_pass(table: Table) -> None:
    check(table, table.file_schema)
    check_whole(table, table.schema)


def test_views_and_dictionaries_pass_for_their_values() -> None:
    disguised = {
        "key": pa.binary_view(),
        "value": pa.dictionary(pa.int32(), pa.binary()),
        "partition": pa.dictionary(pa.int8(), pa.int32()),
        "source_id": pa.dictionary(pa.int32(), pa.string()),
        "run_id": pa.dictionary(pa.int16(), pa.string()),
    }
    fields = [pa.field(f.name, disguised.get(f.name, f.type)) for f in RECORDS.file_schema]
    check(RECORDS, pa.schema(fields))


def test_error_lists_every_difference() -> None:
    fields = [field for field in columns_of(GAPS.schema) if field.name != "cause"]
    fields[3] = pa.field("partition", pa.int64())
    fields[4] = pa.field("start_offset", pa.dictionary(pa.int8(), pa.string()))
    fields += [pa.field("colour", pa.string()), pa.field("detail", pa.string())]
    with pytest.raises(SchemaError) as caught:
        check(GAPS, pa.schema(fields))
    assert str(caught.value) == (
        "columns do not fit table gaps: column cause is missing; column colour is not expected; "
        "column detail comes twice; column partition is int64, expected int32; "
        "column start_offset is string, expected int64"
    )


def test_order_of_columns_matters() -> None:
    with pytest.raises(SchemaError, match="columns are in the order"):
        check(GAPS, pa.schema(columns_of(GAPS.schema)[::-1]))


@pytest.mark.parametrize(
    "kind",
    [pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "Europe/Paris")],
    ids=str,
)
def test_other_timestamps_are_refused(kind: pa.DataType) -> None:
    fields = [
        pa.field(f.name, kind if f.name == "timestamp" else f.type) for f in RECORDS.file_schema
    ]
    with pytest.raises(SchemaError, match="column timestamp is timestamp"):
        check(RECORDS, pa.schema(fields))


def test_partition_column_is_refused_inside_a_file() -> None:
    with pytest.raises(SchemaError, match="column topic is not expected"):
        check(RECORDS, RECORDS.schema)


def test_column_that_must_not_be_null_is_refused_in_a_table() -> None:
    fields = columns_of(GAPS.schema)
    fields[3] = fields[3].with_nullable(False)
    with pytest.raises(SchemaError, match="column partition must be nullable"):
        check_whole(GAPS, pa.schema(fields))
