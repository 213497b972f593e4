"""Rows of an answer for a person, for a machine, and in a Parquet file."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

from seglake.pipelines.lake_query.answers import Answer, OutputFormat, write, write_parquet

_ROWS = pa.table({"name": ["a,b", None, "日"], "n": [1, 20, None]})


def _written(rows: pa.Table, form: OutputFormat) -> str:
    out = io.StringIO()
    write(Answer(rows.schema, rows.to_batches(max_chunksize=2)), form, out)
    return out.getvalue()


def test_table_has_numbers_to_the_right_and_texts_to_the_left() -> None:
    assert _written(_ROWS, OutputFormat.TABLE).splitlines() == [
        "+------+------+",
        "| name |    n |",
        "+------+------+",
        "| a,b  |    1 |",
        "| NULL |   20 |",
        "| 日   | NULL |",
        "+------+------+",
    ]


def test_table_without_rows_has_its_names() -> None:
    assert _written(_ROWS[:0], OutputFormat.TABLE).count("\n") == 3


def test_table_ends_at_1000_rows_and_cuts_long_cells_and_says_so() -> None:
    rows = pa.table({"x": ["y" * 121, *["z"] * 999]})
    whole = _written(rows, OutputFormat.TABLE)
    assert f"| {'y' * 117}... |" in whole
    assert whole.endswith("cells are cut at 120 characters: --json shows them in full\n")
    assert "only the first" not in whole
    longer = pa.concat_tables([rows, rows[:1]])
    assert "only the first 1000 rows are shown: --json and --csv have all" in _written(
        longer, OutputFormat.TABLE
    )
    assert "cut" not in _written(pa.table({"x": ["y" * 120]}), OutputFormat.TABLE)


def test_json_has_a_line_for_each_row_and_keeps_nulls() -> None:
    lines = _written(_ROWS, OutputFormat.JSON).splitlines()
    assert [json.loads(line) for line in lines] == _ROWS.to_pylist()


def test_csv_has_a_line_of_names_and_one_for_each_row() -> None:
    rows = [*csv.reader(io.StringIO(_written(_ROWS, OutputFormat.CSV)))]
    assert rows == [["name", "n"], ["a,b", "1"], ["", "20"], ["日", ""]]


def test_second_column_of_a_name_gets_a_number() -> None:
    rows = pa.table([[1], [2], [3]], names=["a", "a", "a_1"])
    assert _written(rows, OutputFormat.JSON) == '{"a":1,"a_1":2,"a_1_1":3}\n'
    assert _written(rows, OutputFormat.CSV) == "a,a_1,a_1_1\n1,2,3\n"
    sink = io.BytesIO()
    assert write_parquet(Answer(rows.schema, rows.to_batches()), sink) == 1
    assert pq.read_table(sink).column_names == ["a", "a_1", "a_1_1"]


def test_parquet_file_has_the_rows_and_their_types() -> None:
    sink = io.BytesIO()
    assert write_parquet(Answer(_ROWS.schema, _ROWS.to_batches(max_chunksize=2)), sink) == 3
    assert pq.read_table(sink).equals(_ROWS)
