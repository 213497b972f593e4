"""Reads the bytes of a Protobuf message without the library.

Where the library refuses bytes it does not say which; and it needs memory for each message in a
list before anybody can ask how many there are.
"""

from collections.abc import Generator, Mapping
from typing import Any

from seglake.value_codec.reject_reasons import RejectReason

_VARINT, _FIXED64, _LENGTH, _GROUP, _END, _FIXED32 = range(6)
_SIZES = {_FIXED64: 8, _FIXED32: 4}
_MOST = (1 << 64) - 1
_MOST_LEVELS = 100  # most nested levels, as in Google's library


class _WireError(Exception):
    """Error for faulty bytes: the reason and the position."""

    def __init__(self, reason: RejectReason, position: int) -> None:
        self.fault = reason, position
        super().__init__(reason)


# Any: google.protobuf has no type hints.
def wire_fault(content: bytes, message: Any) -> tuple[RejectReason, int] | None:
    """Return why bytes are not a message, and the position of the first wrong byte.

    Args:
        content: the body of a value.
        message: descriptor of the message.

    Returns:
        None if the bytes are a message whose texts are UTF-8.
    """
    try:
        _message(content, 0, len(content), message, 0, 0)
    except _WireError as error:
        return error.fault
    return None


def has_more_entries(content: bytes, message: Any, counts: Mapping[str, int], most: int) -> bool:
    """Return whether columns need more entries for the items of lists than a limit.

    Items in front of a fault count, too: the library makes them before it refuses the body.

    Args:
        content: the body of a value.
        message: descriptor of the message.
        counts: number of columns of an item, by the full name of its message.
        most: the limit.
    """
    found = 0
    try:
        for entries in _entries(content, (0, len(content)), message, counts, 0):
            found += entries
            if found > most:
                return True
    except _WireError:
        pass
    return False


def _entries(
    content: bytes, bounds: tuple[int, int], message: Any, counts: Mapping[str, int], depth: int
) -> Generator[int, None, int]:
    """Yield the entries of each item in a message or a group; return the index after it."""
    at, end = bounds
    if depth > _MOST_LEVELS:
        raise _WireError(RejectReason.DEPTH, at)
    fields: Mapping[int, Any] = {} if message is None else message.fields_by_number
    while at < end:
        tag, at = _varint(content, at, end)
        kind, field = tag & 7, fields.get(tag >> 3)
        inner = None if field is None else field.message_type
        if kind == _END:
            break
        if kind == _VARINT:
            _, at = _varint(content, at, end)
        elif kind in _SIZES:
            at += _SIZES[kind]
        else:
            size, at = _varint(content, at, end) if kind == _LENGTH else (end - at, at)
            after = min(at + size, end)
            if field is not None and inner is not None and field.is_repeated:
                yield counts.get(inner.full_name, 1)
            if inner is not None or kind == _GROUP:
                stop = yield from _entries(content, (at, after), inner, counts, depth + 1)
                after = stop if kind == _GROUP else after
            at = after
    return at


def _message(content: bytes, at: int, end: int, message: Any, depth: int, group: int) -> int:
    """Check the bytes of a message or a group; return the index after it."""
    if depth > _MOST_LEVELS:
        raise _WireError(RejectReason.DEPTH, at)
    fields = {} if message is None else message.fields_by_number
    while at < end:
        tag_at = at
        tag, at = _varint(content, at, end)
        number, kind = tag >> 3, tag & 7
        if number == 0 or number >= 1 << 29 or kind > _FIXED32:
            raise _WireError(RejectReason.BAD_VARINT, tag_at)
        field = fields.get(number)
        if kind == _END:
            if number != group:
                raise _WireError(RejectReason.BAD_VARINT, tag_at)
            return at
        if kind == _GROUP:
            at = _message(content, at, end, field and field.message_type, depth + 1, number)
        elif kind == _VARINT:
            _, at = _varint(content, at, end)
        elif kind == _LENGTH:
            at = _length(content, at, end, field, depth)
        else:
            if _SIZES[kind] > end - at:
                raise _WireError(RejectReason.SHORT, at)
            at += _SIZES[kind]
    if group:
        raise _WireError(RejectReason.SHORT, at)
    return at


def _length(content: bytes, at: int, end: int, field: Any, depth: int) -> int:
    """Check a field that begins with its length; return the index after it."""
    length_at = at
    size, at = _varint(content, at, end)
    if size >= 1 << 31:
        raise _WireError(RejectReason.BAD_VARINT, length_at)
    if size > end - at:
        raise _WireError(RejectReason.SHORT, at)
    after = at + size
    if field is not None and field.type == field.TYPE_STRING:
        try:
            content[at:after].decode("utf-8")
        except UnicodeDecodeError:
            raise _WireError(RejectReason.BAD_UTF8, at) from None
    elif field is not None and field.type == field.TYPE_MESSAGE:
        _message(content, at, after, field.message_type, depth + 1, 0)
    elif field is not None and field.type != field.TYPE_BYTES and _is_packed(field):
        _packed(content, at, after, field)
    return after


def _is_packed(field: Any) -> bool:
    return bool(field.is_repeated) and field.type != field.TYPE_GROUP


def _packed(content: bytes, at: int, end: int, field: Any) -> None:
    """Check numbers without tags."""
    if field.type in (field.TYPE_FIXED32, field.TYPE_SFIXED32, field.TYPE_FLOAT):
        size = 4
    elif field.type in (field.TYPE_FIXED64, field.TYPE_SFIXED64, field.TYPE_DOUBLE):
        size = 8
    else:
        while at < end:
            _, at = _varint(content, at, end)
        return
    if (end - at) % size:
        raise _WireError(RejectReason.SHORT, end - (end - at) % size)


def _varint(content: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the varint at an index, and the index after it; bits beyond 64 are dropped."""
    value = 0
    for size in range(10):
        if at + size >= end:
            raise _WireError(RejectReason.SHORT, at)
        byte = content[at + size]
        value |= (byte & 0x7F) << 7 * size
        if byte < 0x80:
            return value & _MOST, at + size + 1
    raise _WireError(RejectReason.BAD_VARINT, at)
