"""The layout table that opens a format module is the struct it decodes with."""

import re
import struct
from types import ModuleType
from typing import NamedTuple

import pytest

from seglake.segment_codec.formats import control_record, message_set, record_batch
from seglake.segment_codec.formats.side_files import (
    offset_index,
    producer_snapshot,
    time_index,
    transaction_index,
)

LINE = re.compile(r" +(\d+)  (\w+) +([iu]\d+)\b")
CODES = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "u32": "I"}


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
        (record_batch, [record_batch.HEADER]),
        (control_record, [control_record.KEY]),
    ],
    ids=lambda value: value.__name__ if isinstance(value, ModuleType) else "",
)
def test_layout_table_is_the_struct(module: ModuleType, structs: list[struct.Struct]) -> None:
    assert [">" + "".join(CODES[field.type] for field in table) for table in tables(module)] == [
        layout.format for layout in structs
    ]
    for table in tables(module):
        codes = [CODES[field.type] for field in table]
        starts = [struct.calcsize(">" + "".join(codes[:count])) for count in range(len(codes))]
        assert [field.position for field in table] == starts


@pytest.mark.parametrize(
    ("module", "entry"),
    [
        (transaction_index, transaction_index.AbortedTransaction._fields),
        (producer_snapshot, producer_snapshot.ProducerState._fields),
        (record_batch, record_batch.BatchHeader._fields),
    ],
    ids=["transaction_index", "producer_snapshot", "record_batch"],
)
def test_entry_has_the_fields_of_the_layout_table(module: ModuleType, entry: tuple[str]) -> None:
    assert tuple(field.name for field in tables(module)[-1]) == entry


def test_snapshot_checksum_starts_where_the_layout_says() -> None:
    count = tables(producer_snapshot)[0][-1]
    assert (count.name, count.position) == ("count", producer_snapshot.CHECKSUM_START)


def positions(module: ModuleType) -> dict[str, int]:
    return {field.name: field.position for table in tables(module) for field in table}


def test_constants_of_a_record_batch_are_places_of_its_layout() -> None:
    place = positions(record_batch)
    assert place["partition_leader_epoch"] == record_batch.LENGTH_STOP
    assert place["attributes"] == record_batch.CHECKSUM_START
    records = re.search(r"^ +(\d+)  records\b", record_batch.__doc__ or "", re.MULTILINE)
    assert records is not None
    assert int(records[1]) == record_batch.HEADER_BYTES
    smallest = re.search(r"batch_length .*, (\d+) at least", record_batch.__doc__ or "")
    assert smallest is not None
    assert int(smallest[1]) == record_batch.SMALLEST_LENGTH


def test_layout_table_of_a_message_is_its_structs() -> None:
    (table,) = tables(message_set)
    formats = message_set.PREFIX.format + message_set.TIMESTAMP.format + message_set.LENGTH.format
    assert "".join(CODES[field.type] for field in table) == formats.replace(">", "")
    ends = [field.position + int(field.type[1:]) // 8 for field in table]
    assert ends[:-1] == [field.position for field in table[1:]]


def test_constants_of_a_message_are_places_of_its_layout() -> None:
    place = positions(message_set)
    assert place["crc"] == message_set.SIZE_STOP
    assert place["magic"] == message_set.CHECKSUM_START
    assert place["timestamp_ms"] == message_set.PREFIX_BYTES
    without_time = place["key_length"] - message_set.TIMESTAMP.size + 2 * message_set.LENGTH.size
    assert without_time - message_set.SIZE_STOP == message_set.SMALLEST_SIZE
