import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from seglake.segment_codec.formats.side_files.producer_snapshot import (
    ProducerSnapshot,
    ProducerState,
    parse,
)
from support.broker_disks import log_dir
from support.corrupt_cases import corrupt_case

OPEN = (41, 3, 16, 100, 6, 1_700_000_000_000, 2, 94)
MARKER_ONLY = (42, 0, -1, -1, 0, 1_700_000_000_001, 5, -1)


def snapshot_file(
    *entries: tuple[int, ...], version: int = 1, count: int | None = None, extra: bytes = b""
) -> bytes:
    body = struct.pack(">i", len(entries) if count is None else count)
    body += b"".join(struct.pack(">qhiqiqiq", *entry) for entry in entries) + extra
    return struct.pack(">hI", version, crc32c(body)) + body


def test_entries_are_read_with_minus_one_as_none() -> None:
    snapshot = parse(snapshot_file(OPEN, MARKER_ONLY))
    assert snapshot == ProducerSnapshot(
        version=1,
        crc_is_valid=True,
        entries=(
            ProducerState(
                producer_id=41,
                producer_epoch=3,
                last_sequence=16,
                last_offset=100,
                offset_delta=6,
                timestamp_ms=1_700_000_000_000,
                coordinator_epoch=2,
                current_txn_first_offset=94,
            ),
            ProducerState(
                producer_id=42,
                producer_epoch=0,
                last_sequence=-1,
                last_offset=None,
                offset_delta=0,
                timestamp_ms=1_700_000_000_001,
                coordinator_epoch=5,
                current_txn_first_offset=None,
            ),
        ),
        damage=None,
    )


def test_offset_zero_is_an_offset() -> None:
    (state,) = parse(snapshot_file((41, 0, 0, 0, 0, 5, 0, 0))).entries
    assert (state.last_offset, state.current_txn_first_offset) == (0, 0)


def test_memoryview_is_read_like_bytes() -> None:
    data = snapshot_file(OPEN, MARKER_ONLY)
    assert parse(memoryview(data)) == parse(data)


def test_snapshot_without_producers_is_ten_bytes() -> None:
    assert len(snapshot_file()) == 10
    assert parse(snapshot_file()) == ProducerSnapshot(1, True, (), None)


@pytest.mark.parametrize("bit", range(8))
@pytest.mark.parametrize("position", [2, 5, 6, 10, 55])
def test_any_flipped_bit_fails_the_checksum_and_gives_no_entries(position: int, bit: int) -> None:
    data = bytearray(snapshot_file(OPEN))
    data[position] ^= 1 << bit
    snapshot = parse(bytes(data))
    assert (snapshot.crc_is_valid, snapshot.entries) == (False, ())
    assert snapshot.damage is not None
    assert snapshot.damage.startswith("checksum ")


@pytest.mark.parametrize("version", [-1, 0, 2])
def test_other_versions_are_not_read(version: int) -> None:
    snapshot = parse(snapshot_file(OPEN, version=version))
    damage = f"version {version}, expected 1"
    assert snapshot == ProducerSnapshot(version, True, (), damage)


@pytest.mark.parametrize(("count", "extra"), [(0, b""), (2, b""), (-1, b""), (1, b"\0")])
def test_count_that_is_not_the_length_is_damage(count: int, extra: bytes) -> None:
    snapshot = parse(snapshot_file(OPEN, count=count, extra=extra))
    assert snapshot.crc_is_valid
    assert snapshot.entries == ()
    assert snapshot.damage is not None
    assert f"{count} entries need" in snapshot.damage


@pytest.mark.parametrize("size_bytes", range(10))
def test_file_shorter_than_the_header_is_damage(size_bytes: int) -> None:
    damage = f"{size_bytes} bytes, shorter than the header of 10"
    assert parse(snapshot_file(OPEN)[:size_bytes]) == ProducerSnapshot(None, False, (), damage)


def test_zeros_are_damage() -> None:
    assert parse(bytes(4096)).damage == "version 0, expected 1"


def test_hanging_transaction_of_a_broker_disk_has_its_first_offset() -> None:
    path = log_dir("06_transactions", "stopped") / "tx-a-0" / "00000000000000000128.snapshot"
    open_transactions = {
        state.producer_id: state.current_txn_first_offset
        for state in parse(path.read_bytes()).entries
        if state.current_txn_first_offset is not None
    }
    assert open_transactions == {6: 102}


def test_garbage_snapshots_of_a_damaged_disk_are_damage() -> None:
    paths = sorted(corrupt_case("snapshot_garbage__tx").folder.glob("*.snapshot"))
    assert len(paths) == 2
    for path in paths:
        snapshot = parse(path.read_bytes())
        assert (snapshot.crc_is_valid, snapshot.entries) == (False, ())
        assert snapshot.damage is not None


@given(st.binary(max_size=200))
def test_parse_never_raises(data: bytes) -> None:
    snapshot = parse(data)
    assert snapshot.damage is not None or snapshot.crc_is_valid


@given(st.binary(max_size=150), st.integers(-3, 3))
def test_parse_never_raises_under_a_valid_checksum(body: bytes, count: int) -> None:
    snapshot = parse(snapshot_file(count=count, extra=body))
    assert snapshot.crc_is_valid
    assert (snapshot.damage is None) == (len(body) == 46 * count)
