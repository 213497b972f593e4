"""Sound batches to begin from: those of real brokers, and one of each format and codec."""

import struct
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from seglake.segment_codec.formats.reference_decoder import decode
from support.broker_disks import copies, log_dirs
from support.encoder import Codec, Record, SnappyLayout, message, record_batch, wrapper
from support.mixed_batches import KINDS
from support.walks import sound_units

SCENARIOS = ("01_v0_codecs", "02_v1_codecs", "03_v2_codecs", "05_compacted", "06_transactions")
_MOST_BYTES = 3000
_MOST_BATCHES = 8
_MOST_OF_A_LOG = 3
_PREFIX = struct.Struct(">qi4xbbb")
_LENGTH_STOP = 12
_OLD_CODECS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4)


class Sample(NamedTuple):
    """Batches that follow each other in a log, all sound."""

    name: str
    base_offset: int
    batches: tuple[bytes, ...]


@cache
def samples() -> tuple[Sample, ...]:
    """All of them, the same on each machine."""
    return (*_encoded(), *(sample for name in SCENARIOS for sample in _of_brokers(name)))


@cache
def made_count() -> int:
    """How many of the samples, the first ones, are not of brokers."""
    return len(list(_encoded()))


@cache
def contents() -> frozenset[tuple[bytes | None, bytes | None]]:
    """Key and value of every record in the samples: there is nothing else to come out of them."""
    units = (
        unit
        for sample in samples()
        for unit in sound_units(b"".join(sample.batches), sample.base_offset)
    )
    return frozenset(
        (record.key, record.value) for unit in units for record in decode(unit, 1 << 24)
    )


def sample_records(first: int, count: int) -> list[Record]:
    """Records that differ in key and value, of bytes that do not shrink and bytes that do."""
    return [
        Record(b"k%d" % n, b"%d|" % n + (b"text " * 9 if n % 2 else b"\x07\xff"), 1_600_000_000 + n)
        for n in range(first, first + count)
    ]


def _encoded() -> Iterator[Sample]:
    for codec, layout in product(Codec, SnappyLayout):
        if layout is SnappyLayout.RAW and codec is not Codec.SNAPPY:
            continue
        yield _sample(
            f"magic 2, {codec.name}, {layout}",
            [
                record_batch(
                    3 * n, sample_records(3 * n, 3), codec=codec, snappy_layout=layout
                ).data
                for n in range(6)
            ],
        )
        for magic in (0, 1) if codec in _OLD_CODECS else ():
            yield _sample(
                f"magic {magic}, {codec.name}, {layout}",
                [
                    wrapper(
                        3 * n, sample_records(3 * n, 3), magic, codec, snappy_layout=layout
                    ).data
                    for n in range(6)
                ],
            )
    for magic in (0, 1):
        records = sample_records(0, 12)
        yield _sample(
            f"magic {magic}", [message(n, record, magic).data for n, record in enumerate(records)]
        )
    odd = ("bad checksum", "raised", "lowered", "far away", "codec 6", "leader change")
    kinds = [kind for kind in KINDS if kind not in odd]
    yield _sample("of all kinds", [KINDS[kind](3 * n).data for n, kind in enumerate(kinds)])


def _sample(name: str, batches: list[bytes], base_offset: int = 0) -> Sample:
    return Sample(name, base_offset, tuple(batches))


def _of_brokers(scenario: str) -> Iterator[Sample]:
    """The first small batches of each log of the first copy of a scenario's disks."""
    for log_dir in log_dirs(scenario, copies(scenario)[0]):
        for path in sorted(log_dir.path.glob("*/*.log")):
            yield from _of_log(scenario, path)


def _of_log(scenario: str, path: Path) -> Iterator[Sample]:
    content = path.read_bytes()
    found: list[bytes] = []
    seen: set[tuple[int, int]] = set()
    position, name = 0, f"{scenario}/{path.parent.name}/{path.name}"
    while len(content) - position >= _PREFIX.size and len(seen) < _MOST_OF_A_LOG:
        _, length, magic, *attributes = _PREFIX.unpack_from(content, position)
        stop = position + _LENGTH_STOP + length
        if length < 14 or stop > len(content):
            break
        found.append(content[position:stop])
        position = stop
        size_bytes = sum(map(len, found))
        if size_bytes > _MOST_BYTES or len(found) == _MOST_BATCHES:
            kind = (magic, attributes[0] & 0xF if magic < 2 else len(seen))
            if size_bytes <= 2 * _MOST_BYTES and kind not in seen:
                seen.add(kind)
                yield _sample(name, found, _first_offset(found[0]))
            found = []


def _first_offset(batch: bytes) -> int:
    """Where the log may begin: a wrapper's field holds its last offset, so at zero."""
    offset, _, magic, attributes, _ = _PREFIX.unpack_from(batch)
    return 0 if magic < 2 and attributes & 7 else int(offset)
