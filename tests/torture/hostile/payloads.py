"""What lies in a batch: records and messages whose lengths, counts and deltas lie."""

import struct
import zlib
from random import Random
from typing import NamedTuple

from support.encoder import Codec, EncodedBatch, Record, SnappyLayout, compressed, message_bytes
from torture.hostile.numbers import hostile_varint, lie, packed

_NAMES = (b"", b"k", b"\xff\xfe no text", "ключ".encode(), b"\0", b"\xed\xa0\x80", b"x" * 13)
_LZ4_IS_BROKEN = 0  # the magic whose lz4 frames have a header checksum of their own


class Payload(NamedTuple):
    """Bytes of records, and what a header would rightly say of them."""

    content: bytes
    record_count: int
    last_delta: int


def records(random: Random, share: float) -> Payload:
    """Records of magic 2; each number in them lies in this share of cases."""
    parts = []
    delta = -1
    count = random.choice((0, 1, 1, 2, 3, 3, 5, 9))
    for _ in range(count):
        delta += random.choice((1, 1, 1, 1, 2, 40))
        parts.append(_record(random, delta, share))
    return Payload(b"".join(parts), count, max(delta, 0))


def messages(random: Random, magic: int, first_offset: int, share: float) -> Payload:
    """Messages as they lie in a wrapper, or alone; their offsets rise unless they lie."""
    parts = []
    offset = first_offset
    count = random.choice((1, 1, 2, 3, 6))
    for _ in range(count):
        parts.append(message(random, magic, offset, share))
        offset += random.choice((1, 1, 1, 3))
    return Payload(b"".join(parts), count, offset - 1 - first_offset)


def message(random: Random, magic: int, offset: int, share: float) -> bytes:
    """One message of an old format; its checksum is right, unless that lies too."""
    inner_magic = lie(random, magic, 2) if random.random() < share / 2 else magic
    attributes = random.getrandbits(8) if random.random() < share / 2 else 0
    start = struct.pack(">bB", inner_magic, attributes)
    start += struct.pack(">q", random.getrandbits(40)) if magic == 1 else b""
    body = start + _bytes_field(random, share) + _bytes_field(random, share)
    crc = zlib.crc32(body) ^ (random.random() < share / 4)
    size = lie(random, 4 + len(body), 32) if random.random() < share / 4 else 4 + len(body)
    where = lie(random, offset, 64) if random.random() < share else offset
    return packed(where, 8) + packed(size, 4) + packed(crc, 4) + body


def squeezed(random: Random, content: bytes, codec: Codec, magic: int, share: float) -> bytes:
    """Compressed, as one stream or as several; in this share of cases with a wound."""
    layout = random.choice(tuple(SnappyLayout))
    is_broken = magic == _LZ4_IS_BROKEN
    cut = random.randrange(len(content) + 1) if random.random() < share else len(content)
    stream = b"".join(
        compressed(part, codec, snappy_layout=layout, lz4_header_is_broken=is_broken)
        for part in (content[:cut], content[cut:])
        if part or not content
    )
    return wounded(random, stream) if random.random() < share else stream


def wounded(random: Random, data: bytes) -> bytes:
    """Bytes changed, cut out, doubled, or put in."""
    if not data:
        return bytes(random.choices(range(256), k=random.randint(1, 9)))
    start = random.randrange(len(data))
    stop = min(start + random.choice((1, 1, 2, 4, 8, 40)), len(data))
    match random.randrange(6):
        case 0 | 1:
            changed = data[start] ^ 1 << random.randrange(8)
            return data[:start] + bytes([changed]) + data[start + 1 :]
        case 2:
            return data[:start] + packed(lie(random, 0, 32), stop - start) + data[stop:]
        case 3:
            return data[:start] + data[stop:]
        case 4:
            return data[:stop] + data[start:]
        case _:
            return data[:start]


def plain_record(random: Random) -> Record:
    """A small record that is as it should be."""
    key = random.choice((None, *_NAMES))
    return Record(key, random.randbytes(random.choice((0, 3, 12, 13, 40))), random.getrandbits(40))


def wrapped(
    offset: int, payload: bytes, magic: int, attributes: int, timestamp_ms: int
) -> EncodedBatch:
    """A wrapper around any bytes, with a right checksum."""
    data = message_bytes(offset, Record(None, payload, timestamp_ms), magic, attributes)
    return EncodedBatch(data, offset, offset, timestamp_ms)


def _record(random: Random, delta: int, share: float) -> bytes:
    def number(right: int, bits: int = 32) -> bytes:
        return hostile_varint(random, right, share, bits)

    headers = random.choice((0, 0, 0, 1, 2, 5))
    parts = [
        bytes([random.getrandbits(8) if random.random() < share else 0]),
        number(random.getrandbits(20), 64),
        number(delta),
        *_field(random, share),
        *_field(random, share),
        number(headers),
    ]
    for _ in range(headers):
        name = random.choice(_NAMES)
        parts += [number(len(name)), name, *_field(random, share)]
    body = b"".join(parts)
    return number(len(body)) + body


def _field(random: Random, share: float) -> tuple[bytes, bytes]:
    content = random.choice((None, *_NAMES, random.randbytes(random.choice((1, 12, 30)))))
    length = -1 if content is None else len(content)
    return hostile_varint(random, length, share), content or b""


def _bytes_field(random: Random, share: float) -> bytes:
    content = random.choice((None, *_NAMES, random.randbytes(random.choice((1, 12, 30)))))
    length = -1 if content is None else len(content)
    length = lie(random, length, 32) if random.random() < share else length
    return packed(length, 4) + (content or b"")
