"""The layout table that opens a format module is the struct it decodes with."""

import re
import struct
from types import ModuleType
from typing import NamedTuple

import pytest

from segment_codec import offset_index, producer_snapshot, time_index, transaction_index

LINE = re.compile(r" +(\d+)  (\w+) +([iu]\d+)\b")
CODES = {"i16": "h", "i32": "i", "i64": "q", "u32": "I"}


class Field(NamedTuple):
    position: int
    name: str
    type: str


def tables(module: ModuleType) -> list[list[Field]]:
    found: list[list[Field]] = []
    for line in (module.__doc__ or "").splitlines():
        if match := LINE.match(line):
            field = Field(int(match[1]), match[2], match[3])
            if field.position == 0:
                found.append([])
            found[-1].append(field)
    return found


@pytest.mark.parametrize(
    ("module", "structs"),
    [
        (offset_index, [offset_index.ENTRY]),
        (time_index, [time_index.ENTRY]),
        (transaction_index, [transaction_index.ENTRY]),
        (producer_snapshot, [producer_snapshot.HEADER, producer_snapshot.ENTRY]),
    ],
    ids=lambda value: value.__name__ if isinstance(value, ModuleType) else "",
)
def test_layout_table_is_the_struct(module: ModuleType, structs: list[struct.Struct]) -> None:
    assert [">" + "".join(CODES[field.type] for field in table) for table in tables(module)] == [
        each.format for each in structs
    ]
    for table in tables(module):
        codes = [CODES[field.type] for field in table]
        starts = [struct.calcsize(">" + "".join(codes[:count])) for count in range(len(codes))]
        assert [field.position for field in table] == starts


@pytest.mark.parametrize(
    ("module", "entry"),
    [
        (transaction_index, transaction_index.AbortedTransaction._fields),
        (producer_snapshot, tuple(producer_snapshot.ProducerState.__dataclass_fields__)),
    ],
    ids=["transaction_index", "producer_snapshot"],
)
def test_entry_has_the_fields_of_the_layout_table(module: ModuleType, entry: tuple[str]) -> None:
    assert tuple(field.name for field in tables(module)[-1]) == entry


def test_snapshot_checksum_starts_where_the_layout_says() -> None:
    count = tables(producer_snapshot)[0][-1]
    assert (count.name, count.position) == ("count", producer_snapshot.CHECKSUM_START)
