"""What salvaged rows say of the damage: where it lies, and which rows it changed."""

from typing import Any

import pytest

from seglake.kafka_log.replica import PartitionKey
from seglake.log_tables.damaged_batch import DamagedBatch
from seglake.log_tables.salvaged_rows import salvaged_rows
from seglake.segment_codec.formats.errors import DefectError
from seglake.segment_codec.formats.flipped_bit import FlippedBit, with_flipped
from support.encoder import Codec, Header, Record, record_batch, wrapper

TIME_MS = 1_700_000_000_000
ONE = [Record(b"k", b"v", TIME_MS)]
TWO = [*ONE, Record(b"k", b"w", TIME_MS + 1)]


def rows_of(
    raw: bytes, low_offset: int | None = None, high_offset: int | None = None
) -> list[dict[str, Any]]:
    batch = DamagedBatch(
        key=PartitionKey("orders", 0, None),
        broker_id=1,
        segment="s",
        position=0,
        raw_sha256="00",
        defect_code="crc_mismatch",
        generation=3,
        low_offset=low_offset,
        high_offset=high_offset,
        inner_offset=None,
    )
    found = salvaged_rows(
        batch, raw, source_id="c", run_id="r", salvaged_at_us=0, max_bytes=1 << 20
    )
    return found.to_pylist()


@pytest.mark.parametrize(
    ("position", "bit", "field", "is_damaged"),
    [
        (22, 3, "attributes", True),  # whose time it is
        (22, 4, "attributes", True),  # in a transaction
        (21, 7, "attributes", False),  # means nothing
        (25, 0, "last_offset_delta", False),
        (30, 0, "base_timestamp_ms", True),
        (42, 0, "max_timestamp_ms", False),
        (50, 0, "producer_id", False),
        (56, 0, "base_sequence", False),
    ],
)
def test_bits_of_a_header_change_the_rows_that_are_made_from_them(
    position: int, bit: int, field: str, is_damaged: bool
) -> None:
    raw = with_flipped(record_batch(7, ONE).data, FlippedBit(position, bit))
    (row,) = rows_of(raw)
    assert (row["damage"], row["damage_field"]) == ("single_bit", field)
    assert (row["damage_position"], row["damage_bit"]) == (position, bit)
    assert (row["is_damaged"], row["is_trusted"]) == (is_damaged, False)


def test_damage_that_nothing_locates_says_nothing_of_the_rows() -> None:
    raw = with_flipped(record_batch(7, TWO).data, FlippedBit(50, 0))
    for row in rows_of(with_flipped(raw, FlippedBit(49, 1))):
        assert (row["damage"], row["damage_field"], row["is_damaged"]) == ("unknown", None, None)
        assert (row["damage_position"], row["damage_bit"]) == (None, None)


def test_messages_of_a_set_tell_by_their_own_checksums() -> None:
    """Three bits of the checksum of the set are wrong: its messages are as they were written."""
    raw = wrapper(7, TWO, 1, Codec.GZIP).data
    for bit in range(3):
        raw = with_flipped(raw, FlippedBit(13, bit))
    assert [(row["damage"], row["is_damaged"]) for row in rows_of(raw)] == [("unknown", False)] * 2


def test_how_a_transaction_ended_is_not_known() -> None:
    whole = record_batch(7, TWO, Header(is_transactional=True)).data
    rows = rows_of(with_flipped(whole, FlippedBit(18, 0)))
    assert [row["transaction_state"] for row in rows] == [None, None]


def test_offsets_must_lie_between_the_sound_ones() -> None:
    raw = with_flipped(record_batch(7, TWO).data, FlippedBit(18, 0))
    assert [row["offset"] for row in rows_of(raw, 6, 9)] == [7, 8]
    for low, high in ((7, 9), (6, 8)):
        with pytest.raises(DefectError):
            rows_of(raw, low, high)
