"""Reads which message of a schema a value has: Confluent's message indexes, and Glue's index.

Confluent: zigzag varints, a count and the indexes from the file to the nested message; a single 0
is the first message. Source: confluentinc/schema-registry 794611b, MessageIndexes. Glue: a varint,
the index among all messages, nested ones included, in the order of their full names. Source:
awslabs/aws-glue-schema-registry eed1506b, MessageIndexFinder.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.value_codec.bodies import Bodies
from seglake.value_codec.reject_reasons import RejectReason

_MOST_INDEXES = 64
_FIRST = (0,)


class PathFault(NamedTuple):
    """Fault that leaves a value without a message.

    Attributes:
        reason: reason to reject the value.
        position: index of the faulty byte in the value.
    """

    reason: RejectReason
    position: int


class MessagePaths(NamedTuple):
    """Messages of many values.

    Attributes:
        paths: the distinct paths and faults.
        indexes: index in `paths`, for each value.
        starts: for each value, index of the first byte after its message indexes.
    """

    paths: Sequence[tuple[int, ...] | PathFault]
    indexes: NDArray[np.int64]
    starts: NDArray[np.int64]


def message_paths(bodies: Bodies, *, is_glue: bool = False) -> MessagePaths:
    """Return the message of each value, read from the message indexes at the value's start.

    Args:
        bodies: the values.
        is_glue: whether the values have Glue's index, which is then the only one of their paths.

    >>> value = Bodies(np.array([4, 2, 0, 9], np.uint8), np.array([0]), np.array([4]))
    >>> found = message_paths(value)
    >>> found.paths, found.starts.tolist()
    ([(1, 0)], [3])
    """
    data, starts, ends = bodies
    known: dict[tuple[int, ...] | PathFault, int] = {}
    indexes, after = np.zeros(len(starts), np.int64), starts.copy()
    is_first = np.zeros(len(starts), bool)
    filled = np.flatnonzero(ends > starts)
    is_first[filled] = data[starts[filled]] == 0
    if is_first.any():
        known[_FIRST] = 0
        after[is_first] += 1
    for row in np.flatnonzero(~is_first).tolist():
        start = int(starts[row])
        head = data[start : min(int(ends[row]), start + 10 * (_MOST_INDEXES + 1))].tobytes()
        path, size = _path(head, is_glue=is_glue)
        indexes[row] = known.setdefault(path, len(known))
        after[row] += size
    return MessagePaths([*known], indexes, after)


def _path(head: bytes, *, is_glue: bool) -> tuple[tuple[int, ...] | PathFault, int]:
    """Return the path at the start of a value, or a fault; and the number of bytes read."""
    found: list[int] = []
    at, count = 0, 1 if is_glue else -1
    while count < 0 or len(found) < count:
        value, after = _varint(head, at)
        if value is None:
            is_short = after == len(head)
            return PathFault(RejectReason.SHORT if is_short else RejectReason.BAD_VARINT, at), 0
        number = value if is_glue else (value >> 1) ^ -(value & 1)
        if number < 0 or (count < 0 and number > _MOST_INDEXES):
            return PathFault(RejectReason.BAD_VARINT, at), 0
        if count < 0:
            count = number
        else:
            found.append(number)
        at = after
    return tuple(found) or _FIRST, at


def _varint(head: bytes, at: int) -> tuple[int | None, int]:
    """Return a number of at most 32 bits and the index after it; None if there is none."""
    value = 0
    for size, byte in enumerate(head[at : at + 5]):
        value |= (byte & 0x7F) << 7 * size
        if byte < 0x80:
            return value, at + size + 1
    return None, min(len(head), at + 5)


# Any: google.protobuf has no type hints.
def messages_by_name(file: Any) -> list[Any]:
    """Return all message descriptors of a file descriptor, by their full names."""
    found = [*file.message_types_by_name.values()]
    for message in found:  # the list grows meanwhile
        found += message.nested_types
    return sorted(found, key=lambda message: str(message.full_name))


# Any: google.protobuf has no type hints.
def message_at(file: Any, path: Sequence[int]) -> Any | None:
    """Return the message descriptor at a path of a file descriptor; None if there is none."""
    found, messages = None, [*file.message_types_by_name.values()]
    for index in path:
        if index >= len(messages):
            return None
        found = messages[index]
        messages = found.nested_types
    return found
