"""A megabyte at most that declares or yields gigabytes, or asks for more work than it is worth."""

import gzip
import struct
import time
import zlib
from collections.abc import Callable
from functools import cache
from itertools import product
from random import Random

import crc32c
import lz4.frame
import zstandard

from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds, limit_after
from seglake.segment_codec.walk.window import BytesSource, Window
from support.encoder import (
    Codec,
    Header,
    Record,
    message,
    message_bytes,
    payload_batch,
    payload_wrapper,
    record_batch,
    varint,
)
from support.mixed_batches import laid_out_kinds
from torture.hostile.decoded import decoded_count

_MIB = 1 << 20
_XERIAL = bytes.fromhex("82534e4150505900") + struct.pack(">ii", 1, 1)
_ZSTD_MAGIC = bytes.fromhex("28b52ffd")
_BASE = struct.pack(">q", 0)
_BASE_BYTES = len(_BASE)
_MOST_CPU_SECONDS = 10.0  # a header in every five bytes of a megabyte takes 2 to 3
_COUNT = 12_000
_PLAIN = (0, 0, 0, 0, -1, -1, -1, 1)  # attributes and what follows, of a batch of one record
_MOST_PLAIN_BYTES = 64 * _MIB  # as `limits.max_decompressed_batch_bytes`
_NO_CONTENT_SIZE = 0x38  # a window of 128 MiB
_RLE_OF_A_BLOCK = (128 * 1024) << 3 | 1 << 1


def names() -> tuple[str, ...]:
    """Every bomb."""
    return (*_payloads(), *_SEGMENTS)


@cache
def made(name: str, magic: int = 2) -> bytes:
    """A segment with one of them, as `segments` has it; a payload lies in a batch of this magic."""
    if name in _SEGMENTS:
        return _BASE + _SEGMENTS[name]()
    codec, payload = _payloads()[name]
    if magic < 2:
        return _BASE + payload_wrapper(9, payload, magic, codec).data
    header = Header(record_count=9, last_offset_delta=8)
    return _BASE + payload_batch(0, payload, header, codec=codec).data


def draw(random: Random) -> bytes:
    """One of them, or a part of one."""
    content = made(random.choice(names()), random.choice((0, 1, 2, 2)))
    return content if random.random() < 0.5 else content[: random.randrange(8, len(content) + 1)]


@cache
def _payloads() -> dict[str, tuple[Codec, bytes]]:
    zeros = bytes(_MIB)
    zstd = zstandard.ZstdCompressor(level=3)
    return {
        "gzip of 1 GiB": (Codec.GZIP, _gzip_of_zeros(1024)),
        "gzip, members of 1 MiB": (Codec.GZIP, gzip.compress(zeros, 9) * 900),
        "gzip, members of nothing": (Codec.GZIP, gzip.compress(b"") * (_MIB // 20)),
        "gzip, an endless name": (Codec.GZIP, b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * _MIB),
        "snappy that claims 4 GiB": (Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(99)),
        "snappy that claims the limit": (Codec.SNAPPY, _uvarint(64 * _MIB) + b"\0"),
        "snappy of copies": (Codec.SNAPPY, _snappy_of_copies(_MIB // 3)),
        "xerial, blocks that claim": (
            *(Codec.SNAPPY,),
            _XERIAL + (struct.pack(">i", 5) + _uvarint(60 * _MIB) + b"\0") * (_MIB // 9),
        ),
        "xerial, blocks of nothing": (
            *(Codec.SNAPPY,),
            _XERIAL + (struct.pack(">i", 1) + b"\0") * (_MIB // 5),
        ),
        "xerial, blocks of copies": (
            *(Codec.SNAPPY,),
            _XERIAL + _xerial_block(_snappy_of_copies(1000)) * (_MIB // 3010),
        ),
        "lz4 of 250 MiB": (Codec.LZ4, lz4.frame.compress(bytes(250 * _MIB), store_size=False)),
        "lz4 that claims 2^63": (Codec.LZ4, _lz4_that_claims((1 << 63) - 1)),
        "lz4 that claims the limit": (Codec.LZ4, _lz4_that_claims(64 * _MIB)),
        "lz4, frames of nothing": (Codec.LZ4, lz4.frame.compress(b"") * (_MIB // 15)),
        "zstd, blocks of one byte": (Codec.ZSTD, _zstd_of_one_byte(8000)),
        "zstd, many frames": (Codec.ZSTD, zstd.compress(zeros) * 9000),
        "zstd, frames of nothing": (Codec.ZSTD, zstd.compress(b"") * (_MIB // 9)),
        "zstd, empty blocks": (Codec.ZSTD, _zstd_of_empty_blocks(500) * 600),
        "zstd that claims 2^64": (Codec.ZSTD, _zstd_that_claims((1 << 64) - 1)),
        "zstd that claims the limit": (Codec.ZSTD, _zstd_that_claims(64 * _MIB)),
        "zstd, skipped frames": (Codec.ZSTD, struct.pack("<II", 0x184D2A50, 0) * (_MIB // 8)),
        "zstd, a window of 2 TiB": (Codec.ZSTD, _ZSTD_MAGIC + b"\x00\xff" + b"\x01\0\0"),
    }


def _gzip_of_zeros(count_mib: int) -> bytes:
    """Each flush ends a piece that can be repeated."""
    stream = zlib.compressobj(9, wbits=31)
    first = stream.compress(bytes(_MIB)) + stream.flush(zlib.Z_FULL_FLUSH)
    piece = stream.compress(bytes(_MIB)) + stream.flush(zlib.Z_FULL_FLUSH)
    return first + piece * (count_mib - 1) + b"\x03\0" + bytes(8)


def _uvarint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _snappy_of_copies(count: int) -> bytes:
    """A byte, then copies of 64 of what was just written."""
    return _uvarint(1 + 64 * count) + b"\0\0" + b"\xfe\x01\0" * count


def _xerial_block(block: bytes) -> bytes:
    return struct.pack(">i", len(block)) + block


def _lz4_that_claims(size_bytes: int) -> bytes:
    frame = bytearray(lz4.frame.compress(b"x" * 99, store_size=True))
    frame[6:14] = size_bytes.to_bytes(8, "little")
    return bytes(frame)


def _zstd_that_claims(size_bytes: int) -> bytes:
    return _ZSTD_MAGIC + b"\xe0" + size_bytes.to_bytes(8, "little") + b"\x03\0\0\x00"


def _zstd_of_one_byte(count: int) -> bytes:
    block = _RLE_OF_A_BLOCK.to_bytes(3, "little") + b"x"
    last = (_RLE_OF_A_BLOCK | 1).to_bytes(3, "little") + b"x"
    return _ZSTD_MAGIC + bytes([0, _NO_CONTENT_SIZE]) + block * (count - 1) + last


def _zstd_of_empty_blocks(count: int) -> bytes:
    """Raw blocks of nothing, of which none says how little all hold before the last is seen."""
    return _ZSTD_MAGIC + bytes([0, _NO_CONTENT_SIZE]) + b"\0\0\0" * (count - 1) + b"\1\0\0"


def _many_headers() -> bytes:
    body = b"\0\0\0\1\1" + varint(_MIB // 3) + b"\0\1" * (_MIB // 3)
    return payload_batch(0, varint(len(body)) + body, Header(record_count=1)).data


def _header_counts_that_lie() -> bytes:
    body = b"\0\0\0\1\1" + varint(99)
    records = [varint(len(body) + 99) + body + bytes(99)] * (_MIB // 110)
    header = Header(record_count=len(records), last_offset_delta=len(records))
    return payload_batch(0, b"".join(records), header).data


def _tiny_records() -> bytes:
    count = _MIB // 8
    records = b"".join(_tiny_record(n) for n in range(count))
    header = Header(record_count=count, last_offset_delta=count)
    return payload_batch(0, records, header).data


def _tiny_record(delta: int) -> bytes:
    body = b"\0\0" + varint(delta) + b"\1\1\0"
    return varint(len(body)) + body


def _outside() -> bytes:
    """Sound batches whose offsets are none of this segment."""
    return b"".join(record_batch((1 << 40) + n, [Record()]).data for n in range(_COUNT))


def _falling() -> bytes:
    return b"".join(record_batch(_COUNT - n, [Record()]).data for n in range(_COUNT))


def _equal() -> bytes:
    return record_batch(5, [Record()]).data * _COUNT


def _holes() -> bytes:
    return b"".join(record_batch(3 * n, [Record()]).data for n in range(_COUNT))


def _swapped() -> bytes:
    return b"".join(record_batch(n ^ 1, [Record()]).data for n in range(_COUNT))


def _every_second_damaged() -> bytes:
    batches = [record_batch(n, [Record()]).data for n in range(_COUNT)]
    return b"".join(b[:-1] + b"\xff" if n % 2 else b for n, b in enumerate(batches))


def _all_damaged() -> bytes:
    return b"".join(record_batch(n, [Record()]).data[:-1] + b"\xff" for n in range(_COUNT))


def _tiny_batches() -> bytes:
    empty = Header(last_offset_delta=0, max_timestamp_ms=5, base_timestamp_ms=5, record_count=0)
    return b"".join(record_batch(n, [], empty).data for n in range(_MIB // 61))


def _tiny_messages() -> bytes:
    return b"".join(message(n, Record(), n % 2).data for n in range(_MIB // 30))


def _wrappers_outside() -> bytes:
    return b"".join(_wrapper((1 << 40) + n) for n in range(_COUNT))


def _broken_wrappers() -> bytes:
    return b"".join(payload_wrapper(n, b"?", n % 2, Codec.GZIP).data for n in range(_COUNT))


def _wrapper(offset: int) -> bytes:
    inner = message_bytes(0, Record(b"k", b"v"), 1)
    return payload_wrapper(offset, gzip.compress(inner, mtime=0), 1, Codec.GZIP).data


def headers_that_claim_the_rest(magic: int, most_bytes: int = _MIB) -> bytes:
    """Each looks like a batch that reaches to the end of the file."""
    size = 61 if magic == 2 else 18
    count = most_bytes // size
    return b"".join(_claims(n, (count - n) * size - 12, magic, size) for n in range(count))


def _claims(number: int, length: int, magic: int, size: int) -> bytes:
    rest = (0, magic, 1) if magic == 2 else (1, magic)
    form = ">qiibI" if magic == 2 else ">qiIb"
    return struct.pack(form, number, length, *rest).ljust(size, b"\0")


def claims_between_batches(
    magic: int, count: int = _COUNT // 2, *, sound_magic: int = 2, most_bytes: int = 1 << 31
) -> bytes:
    """The same, with a sound batch or message behind each; none claims more than `most_bytes`."""
    size = 61 if magic == 2 else 18
    parts = [_sound(n, sound_magic) for n in range(count)]
    step = size + len(parts[0])
    left = [min(most_bytes, step * (count - n)) - 12 for n in range(count)]
    return b"".join(_claims(n, left[n], magic, size) + part for n, part in enumerate(parts))


def _sound(offset: int, magic: int) -> bytes:
    made = record_batch(offset, [Record()]) if magic == 2 else message(offset, Record(), magic)
    return made.data


def claims_of_far_headers(magic: int, count: int = _COUNT // 4) -> bytes:
    """The same, but each ends at its own header, which is none, behind bytes without one."""
    near = claims_between_batches(magic, count)
    size = 61 if magic == 2 else 18
    step = len(near) // count
    room = b"\xa5" * (_MIB // 4)
    start = len(near) + len(room)
    parts = [
        _claims(n, start + size * n - step * n - 12, magic, size)
        + near[step * n + size : step * (n + 1)]
        for n in range(count)
    ]
    return (
        b"".join(parts) + room + b"".join(_claims(count + n, 99, magic, size) for n in range(count))
    )


def claims_that_end_anywhere(magic: int, count: int = _COUNT // 2) -> bytes:
    """False claims with a sound batch behind each; each ends at one of the claims after it."""
    random = Random(magic)
    size = 61 if magic == 2 else 18
    parts = [_sound(n, 2) for n in range(count)]
    step = size + len(parts[0])
    ends = [random.randrange(n + 1, count + 1) for n in range(count)]
    return b"".join(
        _claims(n, step * (ends[n] - n) - 12, magic, size) + part for n, part in enumerate(parts)
    )


def batches_that_lead_nowhere(count: int = _COUNT // 12) -> bytes:
    """Sound ones, each behind damage that is to be searched to the end, and in front of it."""
    return b"".join(_leads_nowhere(3 * n) for n in range(count))


def _leads_nowhere(offset: int) -> bytes:
    unknown, damaged = (
        struct.pack(">qiIb", offset + n, 14, 1, magic) + bytes(9) for n, magic in enumerate((3, 1))
    )
    return unknown + damaged + _sound(offset + 2, 2)


def batches_in_batches(count: int = _COUNT) -> bytes:
    """Sound ones that begin within each other and end together, where nothing goes on."""
    data = bytearray(61 * count)
    for n in reversed(range(count)):
        batch = memoryview(data)[61 * n :]
        struct.pack_into(">qiibIhiqqqhii", batch, 0, n, len(batch) - 12, 0, 2, 0, *_PLAIN)
        struct.pack_into(">I", batch, 17, crc32c.crc32c(batch[21:]))
    return b"\xa5" * 61 + bytes(data) + b"\xa5" * 9


def _mixed() -> bytes:
    kinds = ["plain", "marker", "gzip", "empty", "message", "wrapper", "bad checksum", "far away"]
    return laid_out_kinds(kinds * 900)


_SEGMENTS: dict[str, Callable[[], bytes]] = {
    "a record of 350,000 headers": _many_headers,
    "header counts that lie": _header_counts_that_lie,
    "tiny records": _tiny_records,
    "batches of another segment": _outside,
    "falling offsets": _falling,
    "equal offsets": _equal,
    "a hole before each batch": _holes,
    "neighbours that changed places": _swapped,
    "every second batch damaged": _every_second_damaged,
    "all batches damaged": _all_damaged,
    "tiny batches": _tiny_batches,
    "tiny messages": _tiny_messages,
    "wrappers of another segment": _wrappers_outside,
    "broken wrappers": _broken_wrappers,
    "headers that claim the rest": lambda: headers_that_claim_the_rest(2),
    "messages that claim the rest": lambda: headers_that_claim_the_rest(1),
    "headers between batches": lambda: claims_between_batches(2),
    "messages between batches": lambda: claims_between_batches(1),
    "headers between batches, up to zeros": lambda: claims_between_batches(2) + bytes(_MIB // 2),
    "short messages between messages": lambda: claims_between_batches(
        1, sound_magic=1, most_bytes=_MIB // 8
    ),
    "claims of far headers": lambda: claims_of_far_headers(2),
    "claims of far messages": lambda: claims_of_far_headers(1),
    "claims that end anywhere": lambda: claims_that_end_anywhere(2),
    "messages that end anywhere": lambda: claims_that_end_anywhere(1),
    "batches in batches": batches_in_batches,
    "batches that lead nowhere": batches_that_lead_nowhere,
    "all kinds, many times": _mixed,
}


def check(content: bytes) -> int:
    """Walk it in all ways that a run does, and decode it: bounded in time and memory."""
    segment = content[_BASE_BYTES:]
    count = 0
    for is_last, compares, headers_only in product((False, True), repeat=3):
        bounds = SegmentBounds(
            base_offset=0,
            limit_offset=limit_after(0),
            is_last=is_last,
            durable_offset=0,
        )
        walk = SegmentWalk(
            Window(BytesSource(segment)),
            bounds,
            OffsetOrder(0),
            headers_only=headers_only,
            compares_neighbours=compares,
        )
        started = time.thread_time()
        items = list(walk.runs() if is_last else walk.items())
        if not headers_only:
            count = decoded_count(items, _MOST_PLAIN_BYTES)
        seconds = time.thread_time() - started
        assert seconds < _MOST_CPU_SECONDS, (
            f"{seconds:.1f} s; {is_last=} {compares=} {headers_only=}"
        )
    return count
