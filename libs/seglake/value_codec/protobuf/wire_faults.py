"""Reads the bytes of a Protobuf message without the library.

Where the library refuses bytes it does not say which; and it needs memory for each message in a
list before anybody can ask how many there are.
"""

from collections.abc import Generator, Mapping
from contextlib import suppress
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
        for field, start, end in _fields(content, 0, len(content), message):
            if field is not None:
                _check(content, start, end, field)
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
    with suppress(_WireError):
        for field, _, _ in _fields(content, 0, len(content), message):
            if field is not None and field.message_type is not None and field.is_repeated:
                found += counts.get(field.message_type.full_name, 1)
                if found > most:
                    return True
    return False


def _fields(
    content: bytes, at: int, end: int, message: Any, depth: int = 0, group: int = 0
) -> Generator[tuple[Any, int, int], None, int]:
    """Yield the fields in a message or a group that begin with a length or are groups themselves.

    Each has its descriptor, None for an unknown field, and the bounds of its content, which are
    equal for a group. A field in a field follows it. Returns the index after the message.
    """
    if depth > _MOST_LEVELS:
        raise _WireError(RejectReason.DEPTH, at)
    fields: Mapping[int, Any] = {} if message is None else message.fields_by_number
    while at < end:
        tag_at = at
        tag, at = _varint(content, at, end)
        number, kind = tag >> 3, tag & 7
        is_tag = 0 < number < 1 << 29 and kind <= _FIXED32
        if not is_tag or (kind == _END and number != group):
            raise _WireError(RejectReason.BAD_VARINT, tag_at)
        field = fields.get(number)
        if kind == _END:
            return at
        if kind == _VARINT:
            _, at = _varint(content, at, end)
        elif kind in _SIZES:
            at = _after(at, _SIZES[kind], end)
        elif kind == _GROUP:
            yield field, at, at
            inner = field and field.message_type
            at = yield from _fields(content, at, end, inner, depth + 1, number)
        else:
            size, start = _varint(content, at, end)
            if size >= 1 << 31:
                raise _WireError(RejectReason.BAD_VARINT, at)
            at = _after(start, size, end)
            yield field, start, at
            if field is not None and field.type == field.TYPE_MESSAGE:
                yield from _fields(content, start, at, field.message_type, depth + 1)
    if group:
        raise _WireError(RejectReason.SHORT, at)
    return at


def _check(content: bytes, at: int, end: int, field: Any) -> None:
    """Check the content of a text, or of numbers without tags."""
    if field.type == field.TYPE_STRING:
        try:
            content[at:end].decode("utf-8")
        except UnicodeDecodeError:
            raise _WireError(RejectReason.BAD_UTF8, at) from None
    if not field.is_repeated or field.message_type is not None:
        return
    match field.type:
        case field.TYPE_STRING | field.TYPE_BYTES:
            return
        case field.TYPE_FIXED32 | field.TYPE_SFIXED32 | field.TYPE_FLOAT:
            rest = (end - at) % 4
        case field.TYPE_FIXED64 | field.TYPE_SFIXED64 | field.TYPE_DOUBLE:
            rest = (end - at) % 8
        case _:
            rest = 0
            while at < end:
                _, at = _varint(content, at, end)
    if rest:
        raise _WireError(RejectReason.SHORT, end - rest)


def _after(at: int, size: int, end: int) -> int:
    """Return the index after some bytes, which end with their message."""
    if size > end - at:
        raise _WireError(RejectReason.SHORT, at)
    return at + size


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
