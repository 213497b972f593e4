"""The place of one flipped bit, told by the checksum alone."""

import random

import pytest

from seglake.segment_codec.formats.flipped_bit import FlippedBit, flipped_bit, with_flipped
from support.encoder import Record, message, record_batch

MAGICS = (0, 1, 2)


def sound(magic: int, value: bytes) -> bytes:
    if magic == 2:
        return record_batch(7, [Record(b"key", value, 1_700_000_000_000)]).data
    return message(7, Record(b"key", value, 1_700_000_000_000), magic).data


def covered(batch: bytes, magic: int) -> range:
    """The places of the checksum and of what it covers."""
    return range(17 if magic == 2 else 12, len(batch))


@pytest.mark.parametrize("magic", MAGICS)
def test_each_bit_of_a_batch_is_found_where_it_was_flipped(magic: int) -> None:
    batch = sound(magic, b"a value")
    for position in covered(batch, magic):
        if position == 16:
            continue  # the magic says which checksum it is
        for bit in range(8):
            flipped = FlippedBit(position, bit)
            assert flipped_bit(with_flipped(batch, flipped)) == flipped


@pytest.mark.parametrize("magic", MAGICS)
def test_flipped_bits_of_a_long_batch_are_found(magic: int) -> None:
    drawn = random.Random(magic)
    batch = sound(magic, drawn.randbytes(300_000))
    for _ in range(40):
        flipped = FlippedBit(drawn.randrange(17, len(batch)), drawn.randrange(8))
        assert flipped_bit(with_flipped(batch, flipped)) == flipped


@pytest.mark.parametrize("magic", MAGICS)
def test_two_flipped_bits_of_a_batch_are_not_taken_for_one(magic: int) -> None:
    batch = sound(magic, b"a value")
    places = [*covered(batch, magic)][6:]
    for position in places:
        twice = with_flipped(batch, FlippedBit(position, 0))
        assert flipped_bit(with_flipped(twice, FlippedBit(places[0], 7))) is None


@pytest.mark.parametrize("magic", MAGICS)
def test_a_sound_batch_has_no_flipped_bit(magic: int) -> None:
    assert flipped_bit(sound(magic, b"a value")) is None
