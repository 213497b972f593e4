"""docs/columns.md has every column of the tables, in order, with Spark's names of the types."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from seglake.lake.tables import (
    BATCHES,
    CHECKPOINTS,
    GAPS,
    OBSERVATIONS,
    QUARANTINE,
    RECORDS,
    Table,
)

_PAGE = (Path(__file__).parents[2] / "docs" / "columns.md").read_text("utf-8")
_ROW = re.compile(r"^\| (`[^|]+`) \| ([A-Z][^|]*) \|", re.MULTILINE)
_NAMES = {
    "int32": "INT",
    "int64": "BIGINT",
    "string": "STRING",
    "binary": "BINARY",
    "bool": "BOOLEAN",
    "timestamp[us, tz=UTC]": "TIMESTAMP",
    "decimal128(38, 0)": "DECIMAL(38,0)",
}


def _name_of(kind: pa.DataType) -> str:
    if isinstance(kind, pa.ListType):
        return f"ARRAY<{_name_of(kind.value_type)}>"
    if isinstance(kind, pa.StructType):
        fields = (kind.field(place) for place in range(kind.num_fields))
        return f"STRUCT<{', '.join(f'{field.name}: {_name_of(field.type)}' for field in fields)}>"
    return _NAMES[str(kind)]


_FIRST = [
    ("source_id", "STRING"),
    ("topic_id", "STRING"),
    ("topic", "STRING"),
    ("partition", "INT"),
]
_FIRST_LINE = (
    "All tables but `records` and `salvaged_records` begin with `source_id`, `topic_id` and "
    "`topic` (STRING), and `partition` (INT)."
)


def _on_the_page(table: Table) -> list[tuple[str, str]]:
    section = _PAGE.split(f"\n## {table.name}\n")[1].split("\n## ")[0]
    first = _FIRST if table is not RECORDS and _FIRST_LINE in _PAGE else []
    return first + [
        (name, kind)
        for names, kind in _ROW.findall(section)
        for name in re.findall(r"`(\w+)`", names)
    ]


@pytest.mark.parametrize(
    "table",
    [RECORDS, BATCHES, QUARANTINE, GAPS, CHECKPOINTS, OBSERVATIONS],
    ids=lambda table: table.name,
)
def test_page_has_the_columns_of_the_table(table: Table) -> None:
    assert _on_the_page(table) == [(field.name, _name_of(field.type)) for field in table.schema]
