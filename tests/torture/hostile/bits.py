"""Every single bit of sound batches flipped, one at a time: six bytes say which.

Below its checksum a flipped bit costs the batch that it is in, and no other.
"""

import struct
from functools import cache
from typing import NamedTuple

from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.record import Record
from support.decoders import by_reference
from support.run_walks import Mode, walked_both_ways
from support.walks import sound_units, units_of
from torture.hostile import corpus
from torture.hostile.decoded import check_decoding

_PLACE = struct.Struct(">HI")
_OFFSET_STOP = 8
_EPOCH = range(12, 16)
_SPAN = 1 << 31
_STRIDE = 1_000_003  # a prime: bits that follow each other tell alike
_ANY_SIZE = 1 << 24
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1


class Truth(NamedTuple):
    """A sample as it is."""

    content: bytes
    starts: tuple[int, ...]
    rows: dict[int, Record]
    rows_of: tuple[frozenset[int], ...]  # of each batch

    def batch_at(self, position: int) -> int:
        return max(n for n, start in enumerate(self.starts) if start <= position)


def made_count() -> int:
    """Bits of one batch, which has neighbours, of each format and codec."""
    return sum(map(len, _made()))


def nth_made(number: int) -> bytes:
    """The n-th of these bits, beginning anew after the last one."""
    left = number % made_count()
    for index, bits in enumerate(_made()):
        if left < len(bits):
            return _PLACE.pack(index, bits[left])
        left -= len(bits)
    raise AssertionError(number)


def nth_of_brokers(number: int) -> bytes:
    """A bit of the batches of real brokers; each comes once before one comes again."""
    first = len(_made())
    counts = [8 * len(truth.content) for truth in _truths()[first:]]
    left = number * _STRIDE % sum(counts)
    for index, count in enumerate(counts, start=first):
        if left < count:
            return _PLACE.pack(index, left)
        left -= count
    raise AssertionError(number)


def check(content: bytes) -> int:
    """Flip one bit, and compare what comes out with what there is."""
    index, bit = _PLACE.unpack(content)
    sample, truth = corpus.samples()[index], _truths()[index]
    place = bit // 8
    damaged = bytearray(truth.content)
    damaged[place] ^= 1 << bit % 8
    mode = Mode(
        compares_neighbours=True,
        base_offset=sample.base_offset,
        limit_offset=sample.base_offset + _SPAN,
        is_last=False,
        durable_offset=sample.base_offset + _SPAN,
    )
    walks = walked_both_ways(bytes(damaged), mode)
    found = check_decoding(walks, _ANY_SIZE, (_LOWEST, _HIGHEST), is_by_runs=bool(bit & 1))
    rows = [row for unit in found.values() if isinstance(unit, list) for row in unit]
    assert len({row.offset for row in rows}) == len(rows), "an offset came out twice"
    batch = truth.batch_at(place)
    start = truth.starts[batch]
    stop = [*truth.starts, len(truth.content)][batch + 1]
    is_offset = place - start < _OFFSET_STOP
    is_epoch = place - start in _EPOCH and truth.content[start + 16] == 2
    expected = {
        offset: row
        for offset, row in truth.rows.items()
        if is_epoch or offset not in truth.rows_of[batch]
    }
    defects = [item for item in walks.items if isinstance(item, Defect)]
    if is_offset:
        _check_moved(truth, batch, {row.offset: row for row in rows}, bool(defects))
        return 1
    assert {row.offset: row for row in rows} == expected, "neighbours of the damage were hurt"
    # A false length may part the batch in two; the items tile the bytes, so no other is in there.
    edges = [(item.position, item.position + item.size_bytes) for item in defects]
    assert (edges[0][0], edges[-1][1]) == (start, stop) if edges else is_epoch
    return 1


def _check_moved(truth: Truth, batch: int, rows: dict[int, Record], is_noted: bool) -> None:
    """The batch is gone, or in its place; or a log with holes may well say what is found."""
    others = truth.rows.keys() - truth.rows_of[batch]
    assert others <= rows.keys() or is_noted
    strange = [row for row in rows.values() if truth.rows.get(row.offset) != row]
    assert all(row.offset not in others for row in strange)


@cache
def _made() -> tuple[range, ...]:
    """The bits of the second batch of each sample that no broker wrote."""
    truths = _truths()[: corpus.made_count()]
    return tuple(range(8 * truth.starts[1], 8 * truth.starts[2]) for truth in truths)


@cache
def _truths() -> tuple[Truth, ...]:
    found = []
    for sample in corpus.samples():
        content = b"".join(sample.batches)
        starts = [0]
        for batch in sample.batches[:-1]:
            starts.append(starts[-1] + len(batch))
        rows: dict[int, Record] = {}
        of_batches = []
        for batch in sample.batches:
            units = units_of(sound_units(batch, sample.base_offset))
            records = [record for unit in units for record in by_reference(unit)]
            rows |= {record.offset: record for record in records}
            of_batches.append(frozenset(record.offset for record in records))
        found.append(Truth(content, tuple(starts), rows, tuple(of_batches)))
    return tuple(found)
