import struct
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seglake.segment_codec.formats.side_files.offset_index import (
    OffsetIndex,
    OffsetPosition,
    parse,
)
from support.broker_disks import log_dir
from support.corrupt_cases import corrupt_case


def index_file(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", *entry) for entry in entries)


def test_offsets_are_made_absolute_with_the_base_offset() -> None:
    index = parse(index_file((4, 100), (9, 220)), base_offset=1000)
    assert index == OffsetIndex(1000, (OffsetPosition(1004, 100), OffsetPosition(1009, 220)), None)


def test_empty_file_has_no_entries_and_no_damage() -> None:
    assert parse(b"", base_offset=7) == OffsetIndex(7, (), None)


def test_memoryview_is_read_like_bytes() -> None:
    data = index_file((4, 100), (9, 220))
    assert parse(memoryview(data), 0) == parse(data, 0)


def test_zero_tail_is_neither_entries_nor_damage() -> None:
    whole = index_file((4, 256), (9, 65536))
    assert parse(whole + bytes(4096), 0) == parse(whole, 0)


def test_preallocated_file_without_an_entry_is_empty() -> None:
    assert parse(bytes(10 << 20), base_offset=7) == OffsetIndex(7, (), None)


def test_bytes_behind_zeros_are_damage() -> None:
    index = parse(index_file((4, 100), (0, 0), (9, 220)), 0)
    assert index.entries == (OffsetPosition(4, 100),)
    assert index.damage is not None
    assert index.damage.startswith("entry 1 (relative offset 0, position 0)")


@pytest.mark.parametrize(
    "second",
    [(4, 220), (3, 220), (9, 100), (9, 99), (-9, 220), (9, -220)],
    ids=["offset_again", "offset_back", "position_again", "position_back", "past_2_31", "huge"],
)
def test_entry_that_does_not_increase_ends_the_entries(second: tuple[int, int]) -> None:
    index = parse(index_file((4, 100), second, (20, 900)), 0)
    assert index.entries == (OffsetPosition(4, 100),)
    assert index.damage is not None
    assert f"relative offset {second[0]}, position {second[1]}" in index.damage


def test_first_entry_past_2_31_is_damage() -> None:
    index = parse(struct.pack(">II", 2**31, 100), base_offset=0)
    assert index.entries == ()
    assert index.damage is not None


def test_largest_relative_offset_and_position_are_read() -> None:
    index = parse(index_file((2**31 - 1, 2**31 - 1)), base_offset=2**62)
    assert index == OffsetIndex(2**62, (OffsetPosition(2**62 + 2**31 - 1, 2**31 - 1),), None)


@pytest.mark.parametrize("surplus", [b"\1\2\3", bytes(3)], ids=["bytes", "zeros"])
def test_length_that_is_no_multiple_of_an_entry_is_damage(surplus: bytes) -> None:
    index = parse(index_file((4, 100), (9, 220)) + surplus, 0)
    assert len(index.entries) == 2
    assert index.damage == "19 bytes: 3 more than whole entries of 8"


def test_lookup_finds_the_last_entry_at_or_below_the_offset() -> None:
    index = parse(index_file((4, 100), (9, 220), (30, 400)), base_offset=1000)
    found = {offset: next(index.lookups(offset)) for offset in (1004, 1008, 1009, 1029, 1030, 9999)}
    first, second, third = index.entries
    assert found == {1004: first, 1008: first, 1009: second, 1029: second, 1030: third, 9999: third}


def test_lookup_below_the_first_entry_finds_nothing() -> None:
    assert [*parse(index_file((4, 100)), base_offset=1000).lookups(1003)] == []
    assert [*parse(b"", base_offset=1000).lookups(1003)] == []


def test_index_of_a_live_disk_reads_as_the_stopped_one() -> None:
    name = "tx-a-0/00000000000000000000.index"
    live = (log_dir("06_transactions", "live") / name).read_bytes()
    stopped = (log_dir("06_transactions", "stopped") / name).read_bytes()
    assert parse(live, 0) == parse(stopped, 0)
    active = "tx-a-0/00000000000000000102.index"
    live = (log_dir("06_transactions", "live") / active).read_bytes()
    assert len(live) == 4096
    assert [entry.offset for entry in parse(live, 102).entries] == [114, 122, 126]


def test_garbage_index_of_a_damaged_disk_is_damage() -> None:
    data = next(corrupt_case("index_garbage__v2").folder.glob("*.index")).read_bytes()
    assert parse(data, 0).damage is not None


def test_zeroed_index_of_a_damaged_disk_is_empty() -> None:
    paths = sorted(corrupt_case("index_zeros__v0").folder.glob("*.index"))
    assert [parse(path.read_bytes(), 0) for path in paths] == [OffsetIndex(0, (), None)] * 2


@given(st.binary(max_size=200), st.integers(0, 2**63 - 1))
def test_parse_never_raises_and_entries_always_increase(data: bytes, base_offset: int) -> None:
    entries = parse(data, base_offset).entries
    assert all(entry.offset >= base_offset and entry.position >= 0 for entry in entries)
    for before, after in pairwise(entries):
        assert before.offset < after.offset
        assert before.position < after.position


@given(
    st.lists(
        st.tuples(st.integers(1, 2**20), st.integers(1, 2**20)),
        max_size=40,
    ),
    st.integers(0, 40),
)
@example([(1, 256)], 0)
@example([(1, 256)], 1)
def test_what_was_written_is_read_whatever_the_zero_tail(
    steps: list[tuple[int, int]], tail_entry_count: int
) -> None:
    offset = position = 0
    entries = []
    for offset_step, position_step in steps:
        offset, position = offset + offset_step, position + position_step
        entries.append(OffsetPosition(offset, position))
    index = parse(index_file(*entries) + bytes(8 * tail_entry_count), 0)
    assert index == OffsetIndex(0, tuple(entries), None)
