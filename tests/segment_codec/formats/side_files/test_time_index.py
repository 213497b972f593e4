import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.segment_codec.formats.side_files.time_index import (
    TimeIndex,
    TimestampOffset,
    parse,
)
from support.broker_disks import log_dir
from support.corrupt_cases import corrupt_case


def index_file(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">qi", *entry) for entry in entries)


def test_offsets_are_made_absolute_with_the_base_offset() -> None:
    index = parse(index_file((1_700_000_000_000, 4), (1_700_000_000_001, 9)), base_offset=1000)
    assert index.entries == (
        TimestampOffset(1_700_000_000_000, 1004),
        TimestampOffset(1_700_000_000_001, 1009),
    )
    assert index.damage is None


def test_memoryview_is_read_like_bytes() -> None:
    data = index_file((5, 4), (7, 9))
    assert parse(memoryview(data), 0) == parse(data, 0)


@pytest.mark.parametrize("size_bytes", [0, 24, 4092, 10_485_756])
def test_file_of_zeros_is_empty(size_bytes: int) -> None:
    assert parse(bytes(size_bytes), base_offset=7) == TimeIndex((), None)


def test_zero_tail_is_neither_entries_nor_damage() -> None:
    index = parse(index_file((256, 4), (65536, 512)) + bytes(4092), 0)
    assert index == TimeIndex((TimestampOffset(256, 4), TimestampOffset(65536, 512)), None)


def test_single_record_with_timestamp_zero_is_an_entry() -> None:
    assert parse(index_file((0, 0)), base_offset=7) == TimeIndex((TimestampOffset(0, 7),), None)
    later = parse(index_file((0, 0), (5, 4)), base_offset=7)
    assert later.entries == (TimestampOffset(0, 7), TimestampOffset(5, 11))


def test_bytes_behind_zeros_are_damage() -> None:
    index = parse(index_file((5, 4), (0, 0), (7, 9)), 0)
    assert index.entries == (TimestampOffset(5, 4),)
    assert index.damage is not None
    assert index.damage.startswith("entry 1 (timestamp 0, relative offset 0)")


@pytest.mark.parametrize(
    "second", [(4, 9), (-1, 9), (7, 3), (7, -9)], ids=["earlier", "negative", "back", "past_2_31"]
)
def test_entry_that_goes_back_ends_the_entries(second: tuple[int, int]) -> None:
    index = parse(index_file((5, 4), second, (90, 90)), 0)
    assert index.entries == (TimestampOffset(5, 4),)
    assert index.damage is not None


@pytest.mark.parametrize("first", [(-1, 0), (5, -1)])
def test_first_entry_below_zero_is_damage(first: tuple[int, int]) -> None:
    index = parse(index_file(first), 0)
    assert index.entries == ()
    assert index.damage is not None


def test_length_that_is_no_multiple_of_an_entry_is_damage() -> None:
    index = parse(index_file((5, 4), (7, 9)) + b"\1", 0)
    assert len(index.entries) == 2
    assert index.damage == "25 bytes: 1 more than whole entries of 12"


def test_time_index_of_a_live_disk_reads_as_the_stopped_one() -> None:
    name = "tx-a-0/00000000000000000102.timeindex"
    live = (log_dir("06_transactions", "live") / name).read_bytes()
    stopped = (log_dir("06_transactions", "stopped") / name).read_bytes()
    assert len(live) > len(stopped)
    # A clean stop adds the newest timestamp; the live file did not have it yet.
    assert parse(live, 102).entries == parse(stopped, 102).entries[:-1]


def test_garbage_time_index_of_a_damaged_disk_is_damage() -> None:
    data = next(corrupt_case("index_garbage__v2").folder.glob("*.timeindex")).read_bytes()
    assert parse(data, 0).damage is not None


@given(st.binary(max_size=200), st.integers(0, 2**63 - 1))
def test_parse_never_raises_and_entries_never_go_back(data: bytes, base_offset: int) -> None:
    entries = parse(data, base_offset).entries
    assert all(entry.offset >= base_offset and entry.timestamp_ms >= 0 for entry in entries)
    for before, after in pairwise(entries):
        assert before.offset <= after.offset
        assert before.timestamp_ms <= after.timestamp_ms
