"""Finds the valid messages of a wrapper in which some messages are damaged.

Each range of valid messages becomes a part of the wrapper, and each damaged message a defect.

Offsets are computed as in Kafka's reader: the last message of a wrapper of magic 1 has the
wrapper's offset. Two kinds of messages are defects: a message whose offset does not exceed all
earlier ones, because consumers would skip it, and a message above the wrapper's offset, because it
would hide the next batch.
"""

import struct
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode, DefectError, malformed
from seglake.segment_codec.formats.message_set import CODEC_MASK, Wrapper
from seglake.segment_codec.formats.units import HIGHEST_OFFSET
from seglake.segment_codec.kernels.faults import FAULTS, INNER_OFFSETS, OK

_SMALLEST_MESSAGE_BYTES = 26
_OFFSET_FIELD = struct.Struct(">q")
_MOST_DAMAGED = 4096  # above this number, the whole set is one defect
_START, _STATUS, _OFFSET, _IS_MESSAGE = range(4)

_Bytes = bytes | memoryview | NDArray[np.uint8]


class InnerPart(NamedTuple):
    """Consecutive valid messages in a damaged wrapper.

    Attributes:
        wrapper: the wrapper, limited to these messages.
        place: bytes [start, stop) of the messages in the decompressed set.
    """

    wrapper: Wrapper
    first_offset: int
    place: tuple[int, int]

    @property
    def last_offset(self) -> int:
        """Return the absolute offset of the last message."""
        return self.wrapper.last_offset


InnerPiece = InnerPart | Defect


def pieces_of(
    wrapper: Wrapper, content: bytes | memoryview | NDArray[np.uint8]
) -> list[InnerPiece]:
    """Return a damaged wrapper's parts and defects, in order of bytes.

    Args:
        wrapper: the wrapper.
        content: its decompressed messages.

    Raises:
        DefectError: no message is usable, or too many are damaged.
    """
    table = _laid_out(content)
    shift = _shift(wrapper, table)
    from seglake.segment_codec.kernels import message_kernels  # imports numba, which takes 0.2 s

    highest = wrapper.last_offset
    if wrapper.magic == 0:  # in magic 0, consumers ignore the wrapper's offset
        highest = max(highest, int(table[-1, _OFFSET]))
    message_kernels.judge_offsets(table, shift, highest)
    damaged = table[table[:, _STATUS] != OK]
    if len(damaged) == len(table) or len(damaged) > _MOST_DAMAGED:
        raise DefectError(*FAULTS[int(damaged[0, _STATUS])])
    return list(_pieces(wrapper, table, np.frombuffer(content, np.uint8)))


def _laid_out(content: _Bytes) -> NDArray[np.int64]:
    """Split a set; return start, status, offset field and whether it is one message, per piece."""
    from seglake.segment_codec.kernels import message_kernels  # imports numba, which takes 0.2 s

    data = np.frombuffer(content, np.uint8)
    table = np.empty((len(data) // _SMALLEST_MESSAGE_BYTES + 1, 4), np.int64)
    return table[: message_kernels.lay_out_messages(data, table)]


def _shift(wrapper: Wrapper, table: NDArray[np.int64]) -> int:
    """Return the number to add to offset fields for absolute offsets; 0 in magic 0."""
    last = int(table[-1, _OFFSET])
    if wrapper.magic == 0:
        return 0
    if not table[-1, _IS_MESSAGE]:
        return _shift_by_first(wrapper, table)
    if not 0 <= wrapper.last_offset - last <= HIGHEST_OFFSET:
        raise malformed(f"wrapper offset {wrapper.last_offset}, last inner offset {last}")
    return wrapper.last_offset - last


def _shift_by_first(wrapper: Wrapper, table: NDArray[np.int64]) -> int:
    """Return the number to add to offset fields if the first message follows the previous batch."""
    highest = int(table[:-1, _OFFSET].max(initial=0))
    shift = -1 if wrapper.follows is None else wrapper.follows - int(table[0, _OFFSET])
    if shift < 0 or highest > wrapper.last_offset - shift:
        raise malformed("the end of the set is unreadable, so its offsets are unknown")
    return shift


def _pieces(
    wrapper: Wrapper, table: NDArray[np.int64], data: NDArray[np.uint8]
) -> Iterator[InnerPiece]:
    """Yield a part for each range of valid messages in the table; each other piece is a defect."""
    is_sound = table[:, _STATUS] == OK
    breaks = np.flatnonzero(~is_sound[1:] | ~is_sound[:-1]) + 1
    previous = -1
    for start, stop in pairwise([0, *breaks.tolist(), len(table)]):
        first, last = int(table[start, _OFFSET]), int(table[stop - 1, _OFFSET])
        begin = int(table[start, _START])
        end = len(data) if stop == len(table) else int(table[stop, _START])
        if is_sound[start]:
            part = replace(wrapper, last_offset=last, part=(begin, end))
            yield InnerPart(part, first, (begin, end))
            previous = last
            continue
        status, is_message = int(table[start, _STATUS]), bool(table[start, _IS_MESSAGE])
        yield _defect(
            wrapper, status, first if is_message else None, previous, begin, data[begin:end]
        )


def false_offset_defect(wrapper: Wrapper) -> Defect:
    """Return the defect for a wrapper whose only fault is the offset in its header."""
    claimed = wrapper.false_offset or 0
    return Defect(
        position=wrapper.position,
        size_bytes=_OFFSET_FIELD.size,
        code=DefectCode.OFFSET_CONTRADICTED,
        detail=f"the wrapper states offset {claimed}, its last message has {wrapper.last_offset}; "
        "its messages are ingested at their own offsets",
        expected_offset=wrapper.last_offset,
        magic=wrapper.magic,
        codec_id=wrapper.attributes & CODEC_MASK,
        content=_OFFSET_FIELD.pack(claimed),
    )


def _defect(
    wrapper: Wrapper,
    status: int,
    offset: int | None,
    previous: int,
    begin: int,
    content: NDArray[np.uint8],
) -> Defect:
    """Return the defect for a damaged piece; `previous` is the last valid offset before it."""
    code, text = FAULTS[status]
    if status == INNER_OFFSETS:
        text = f"offset {offset} follows {previous}, in a set that ends at {wrapper.last_offset}"
    place = f"bytes {begin} to {begin + len(content) - 1} of the decompressed set"
    return Defect(
        position=wrapper.position,
        size_bytes=len(content),
        code=code,
        detail=f"{text} ({place})",
        expected_offset=previous + 1,
        base_offset=offset,
        last_offset=offset,
        magic=wrapper.magic,
        codec_id=wrapper.attributes & CODEC_MASK,
        content=content.tobytes(),
    )
