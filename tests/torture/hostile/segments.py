"""Hostile segments: eight bytes of base offset, which is in a file's name, then those of the file.

How a segment is walked and decoded follows from its bytes too, so that they alone repeat a case.
"""

import struct
import zlib
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from support.encoder import (
    Codec,
    Header,
    Producer,
    message,
    payload_batch,
    with_right_checksum,
    with_right_message_checksum,
)
from support.run_walks import Mode, walked_both_ways
from torture.hostile import corpus
from torture.hostile.decoded import check_decoding
from torture.hostile.numbers import lie, packed
from torture.hostile.payloads import (
    messages,
    plain_record,
    records,
    squeezed,
    wounded,
    wrapped,
)

_BASE = struct.Struct(">q")
_TOP = 1 << 63
_SPAN = 1 << 31
_BASES = (
    0,
    0,
    0,
    5,
    1000,
    _SPAN - 2,
    1 << 33,
    _TOP // 2 - 3,
    _TOP - _SPAN - 9,
    _TOP - 20,
    _TOP - 1,
)
_SHARES = (0.0, 0.01, 0.05, 0.2)
_WINDOWS = (64, 300, 1 << 16)
_MOST_PLAIN = (200, 1 << 16)
# Position, bytes: what a checksum covers of a header of magic 2.
_CHECKED_FIELDS = ((21, 2), (23, 4), (27, 8), (35, 8), (43, 8), (51, 2), (53, 4), (57, 4))
_OPEN_FIELDS = ((0, 8), (8, 4), (12, 4), (16, 1))
_BODY = {0: 16, 1: 16, 2: 21}


class Segment(NamedTuple):
    """What is walked."""

    base_offset: int
    content: bytes


def lying(random: Random) -> bytes:
    """Batches whose fields and records lie below right checksums."""
    base = random.choice(_BASES)
    share = random.choice(_SHARES)
    parts, offset = [], base
    for _ in range(random.choice((1, 4, 8, 12))):
        part, span = random.choice(_LYING)(random, offset, share)
        parts.append(part)
        offset += span + random.choice((0, 0, 0, 0, 0, 1, 3))
        if random.random() < share / 4:
            offset = lie(random, offset, 64)
    return _BASE.pack(base) + b"".join(parts)


def damaged(random: Random) -> bytes:
    """Sound batches, and blows that no checksum was made for."""
    sample = random.choice(corpus.samples())
    parts = list(sample.batches)
    for _ in range(random.choice((0, 0, 1, 2))):
        random.choice((_spliced, _doubled, _dropped, _field_changed))(random, parts)
    content = b"".join(parts)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        content = wounded(random, content)
    return _BASE.pack(sample.base_offset) + content


def resealed(random: Random) -> bytes:
    """Sound batches, blows below their checksums, and checksums made for what came of it."""
    sample = random.choice(corpus.samples())
    parts = list(sample.batches)
    for place in random.sample(range(len(parts)), random.randint(1, len(parts))):
        parts[place] = _resealed(random, parts[place])
    if random.random() < 0.2:
        random.choice((_spliced, _doubled, _dropped))(random, parts)
    return _BASE.pack(sample.base_offset) + b"".join(parts)


def check(content: bytes) -> int:
    """Walk a segment in all ways, and decode what is sound; returns how many batches it held."""
    segment = _segment(content)
    turn = Random(zlib.crc32(content))
    mode = _mode(turn, segment)
    walks = walked_both_ways(segment.content, mode)
    walked_both_ways(segment.content, mode._replace(headers_only=True))
    low = segment.base_offset + turn.randrange(9) if turn.random() < 0.3 else -_TOP
    check_decoding(walks, turn.choice(_MOST_PLAIN), (low, _TOP - 1), is_by_runs=turn.random() < 0.5)
    return len(walks.items)


def check_damaged(content: bytes) -> int:
    """As `check`, of a segment of `damaged`: no record comes out that was in no sample."""
    segment = _segment(content)
    turn = Random(zlib.crc32(content))
    mode = _mode(turn, segment)
    walks = walked_both_ways(segment.content, mode)
    found = check_decoding(walks, 1 << 24, (-_TOP, _TOP - 1), is_by_runs=turn.random() < 0.5)
    rows = [record for unit in found.values() if isinstance(unit, list) for record in unit]
    assert {(row.key, row.value) for row in rows} <= corpus.contents(), "a record was made up"
    # Old wrappers tell where they begin only where neighbours are compared.
    is_once = len({row.offset for row in rows}) == len(rows)
    assert is_once or not mode.compares_neighbours, "an offset came out twice"
    return len(walks.items)


def _segment(content: bytes) -> Segment:
    (base_offset,) = _BASE.unpack_from(content)
    return Segment(base_offset, content[_BASE.size :])


def _mode(turn: Random, segment: Segment) -> Mode:
    limit = segment.base_offset + turn.choice((_SPAN, _SPAN, 20))
    return Mode(
        window_bytes=turn.choice(_WINDOWS),
        breaks=tuple(segment.base_offset + turn.randrange(40) for _ in range(turn.randrange(3))),
        may_have_holes=turn.random() < 0.5,
        compares_neighbours=turn.random() < 0.7,
        base_offset=segment.base_offset,
        limit_offset=limit,
        is_last=turn.random() < 0.5,
        durable_offset=segment.base_offset + turn.choice((0, 5, _SPAN)),
    )


def _lying_batch(random: Random, offset: int, share: float) -> tuple[bytes, int]:
    payload = records(random, share)
    codec = random.choice((0, 0, 0, 0, 1, 2, 3, 4))
    content = (
        squeezed(random, payload.content, Codec(codec), 2, share) if payload.record_count else b""
    )
    header = Header(
        leader_epoch=random.choice((0, 0, 7, -1)),
        producer=random.choice((Producer(), Producer(), Producer(7, 0, 0), Producer(9, 1, 5))),
        is_transactional=random.random() < 0.2,
        is_control=random.random() < 0.05,
        log_append_time_ms=random.choice((None, None, None, 5)),
        last_offset_delta=payload.last_delta,
        base_timestamp_ms=random.choice((0, 1_600_000_000_000, _TOP - 1, -_TOP)),
        max_timestamp_ms=random.choice((0, 1_600_000_000_000, _TOP - 1, -_TOP)),
        record_count=payload.record_count,
    )
    data = bytearray(
        payload_batch(0, content, header, codec=codec if payload.record_count else 0).data
    )
    data[:8] = packed(offset, 8)
    for position, size in _CHECKED_FIELDS:
        if random.random() < share:
            _lie_at(random, data, position, size)
    data[:] = with_right_checksum(bytes(data))
    for position, size in _OPEN_FIELDS:
        if random.random() < share / 4:
            _lie_at(random, data, position, size)
    return bytes(data), payload.last_delta + 1


def _lying_wrapper(random: Random, offset: int, share: float) -> tuple[bytes, int]:
    magic = random.choice((0, 1))
    inner = messages(random, magic, 0 if magic else max(offset, 0), share)
    codec = random.choice((Codec.GZIP, Codec.SNAPPY, Codec.LZ4))
    payload = squeezed(random, inner.content, codec, magic, share)
    attributes = int(codec) | random.choice((0, 0, 8))
    attributes = lie(random, attributes, 8) if random.random() < share else attributes
    span = inner.last_delta + 1
    data = wrapped(0, payload, magic, attributes, random.choice((5, _TOP - 1))).data
    return packed(offset + span - 1, 8) + data[8:], span


def _lying_messages(random: Random, offset: int, share: float) -> tuple[bytes, int]:
    if random.random() < 0.3:
        data = message(0, plain_record(random), random.choice((0, 1))).data
        return packed(offset, 8) + data[8:], 1
    found = messages(random, random.choice((0, 1)), offset, share)
    return found.content, found.last_delta + 1


_Lying = Callable[[Random, int, float], tuple[bytes, int]]
_LYING: tuple[_Lying, ...] = (
    *(_lying_batch, _lying_batch, _lying_batch, _lying_batch),
    *(_lying_wrapper, _lying_messages),
)


def _lie_at(random: Random, data: bytearray, position: int, size: int) -> None:
    right = int.from_bytes(data[position : position + size], "big", signed=True)
    data[position : position + size] = packed(lie(random, right, 8 * size), size)


def _resealed(random: Random, batch: bytes) -> bytes:
    magic = batch[16]
    body = _BODY[magic]
    data = batch[:body]
    if random.random() < 0.5:
        rest = bytearray(batch[body:])
        field = random.randrange(min(len(rest), 44))
        _lie_at(random, rest, field, random.choice((1, 2, 4)))
        data += bytes(rest[: len(batch) - body])
    else:
        data += wounded(random, batch[body:])
    data = data[:8] + packed(len(data) - 12, 4) + data[12:]
    if len(data) < 61 and magic == 2:
        return data
    return with_right_checksum(data) if magic == 2 else with_right_message_checksum(data)


def _spliced(random: Random, parts: list[bytes]) -> None:
    """A batch of another log gets in between."""
    other = random.choice(corpus.samples())
    parts.insert(random.randrange(len(parts) + 1), random.choice(other.batches))


def _doubled(random: Random, parts: list[bytes]) -> None:
    parts.insert(random.randrange(len(parts) + 1), random.choice(parts))


def _dropped(random: Random, parts: list[bytes]) -> None:
    if len(parts) > 1:
        del parts[random.randrange(len(parts))]


def _field_changed(random: Random, parts: list[bytes]) -> None:
    """A field that no checksum covers lies."""
    place = random.randrange(len(parts))
    data = bytearray(parts[place])
    _lie_at(random, data, *random.choice(_OPEN_FIELDS))
    parts[place] = bytes(data)
