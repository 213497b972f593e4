import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.segment_codec.formats.side_files.transaction_index import (
    AbortedTransaction,
    TransactionIndex,
    parse,
)
from support.corrupt_cases import corrupt_case

FIRST = AbortedTransaction(0, 41, 10, 15, 12)
SECOND = AbortedTransaction(0, 42, 12, 18, 19)


def index_file(*entries: AbortedTransaction) -> bytes:
    return b"".join(struct.pack(">hqqqq", *entry) for entry in entries)


def test_entries_are_read_as_they_lie_on_disk() -> None:
    assert parse(index_file(FIRST, SECOND)) == TransactionIndex((FIRST, SECOND), None)


def test_memoryview_is_read_like_bytes() -> None:
    data = index_file(FIRST, SECOND)
    assert parse(memoryview(data)) == parse(data)


def test_empty_file_has_no_entries_and_no_damage() -> None:
    assert parse(b"") == TransactionIndex((), None)


@pytest.mark.parametrize(
    ("second", "fault"),
    [
        (SECOND._replace(version=1), "version 1, expected 0"),
        (SECOND._replace(producer_id=-1), "producer id -1 is negative"),
        (SECOND._replace(first_offset=-1), "a transaction from offset -1 to marker 18"),
        (SECOND._replace(first_offset=18), "a transaction from offset 18 to marker 18"),
        (SECOND._replace(last_stable_offset=-1), "last stable offset -1 after marker 18"),
        (SECOND._replace(last_stable_offset=20), "last stable offset 20 after marker 18"),
        (
            SECOND._replace(last_offset=15, last_stable_offset=0),
            "marker 15 is not above marker 15",
        ),
        (AbortedTransaction(0, 0, 0, 0, 0), "a transaction from offset 0 to marker 0"),
    ],
    ids=["version", "producer", "below", "empty", "stable_below", "stable_past", "order", "zeros"],
)
def test_impossible_entry_ends_the_entries(second: AbortedTransaction, fault: str) -> None:
    assert parse(index_file(FIRST, second, SECOND)) == TransactionIndex(
        (FIRST,), f"entry 1: {fault}"
    )


def test_length_that_is_no_multiple_of_an_entry_is_damage() -> None:
    index = parse(index_file(FIRST) + b"\0")
    assert index == TransactionIndex((FIRST,), "35 bytes: 1 more than whole entries of 34")


def test_garbage_transaction_index_of_a_damaged_disk_is_damage() -> None:
    paths = sorted(corrupt_case("snapshot_garbage__tx").folder.glob("*.txnindex"))
    assert len(paths) == 2
    for path in paths:
        index = parse(path.read_bytes())
        assert index.entries == ()
        assert index.damage is not None


@given(st.binary(max_size=200))
def test_parse_never_raises_and_never_loses_bytes_in_silence(data: bytes) -> None:
    index = parse(data)
    assert index.damage is not None or index_file(*index.entries) == data


NUMBERS = st.integers(-2, 40)


@given(st.lists(st.builds(AbortedTransaction, st.just(0), NUMBERS, NUMBERS, NUMBERS, NUMBERS)))
def test_entries_always_are_possible_transactions(entries: list[AbortedTransaction]) -> None:
    found = parse(index_file(*entries)).entries
    assert found == tuple(entries[: len(found)])
    assert all(0 <= entry.first_offset < entry.last_offset for entry in found)
    assert [entry.last_offset for entry in found] == sorted({entry.last_offset for entry in found})
