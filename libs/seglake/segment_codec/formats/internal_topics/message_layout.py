"""Parses messages in Kafka's encoding, by layouts that are tables of text.

A layout has one field per line, in the order of the bytes::

    name      type      versions   nullable   tag

    offset    int64
    epoch     int32     3+
    note      string    0-2        nullable
    topicId   uuid      4+                    tag 0
    members   []        2+
      id      string

`versions` are the versions that have the field; by default, all have it. The type `[]` is an array
of structs, `{}` one struct; their fields are the indented lines below. Integers are big-endian.
These encodings depend on the version:

    ===============  ==============================  ==========================================
    type             before the flexible versions    in them
    ===============  ==============================  ==========================================
    string           i16 length, -1 null             uvarint length + 1, 0 null
    bytes, arrays    i32 length or count, -1 null    uvarint length or count + 1, 0 null
    end of a struct  nothing                         uvarint count of tagged fields, each a
                                                     uvarint tag, a uvarint size and its bytes
    ===============  ==============================  ==========================================

A nullable struct (in these layouts only in tagged fields) begins with a uvarint that is 0 for null.
As in Kafka, tags that are not in the layout are skipped, and U+FFFD replaces invalid UTF-8.

Source: apache/kafka 1eb7644, clients/src/main/resources/common/message/README.md and
ByteBufferAccessor.java.
"""

import base64
import math
import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from seglake.segment_codec.formats.errors import MessageError

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_ANY_VERSION = 1 << 15
_MAX_UVARINT_BYTES = 5
_MAX_UVARINT = (1 << 31) - 1


class Cursor:
    """A bounds-checked cursor over the bytes of one message."""

    def __init__(self, data: bytes, position: int = 0) -> None:
        """Start at a position of the message.

        Args:
            data: all bytes of the message.
            position: index of the first byte to read.
        """
        self.data = data
        self.position = position

    @property
    def left_bytes(self) -> int:
        """Return the number of bytes after the cursor."""
        return len(self.data) - self.position

    def read(self, length: int) -> bytes:
        """Return the next `length` bytes; raise MessageError if there are fewer."""
        start = self.position
        stop = start + length
        if stop > len(self.data):
            raise self._too_short(length)
        self.position = stop
        return self.data[start:stop]

    def number(self, layout: struct.Struct) -> int:
        """Return the next number; raise MessageError if too few bytes are left."""
        start = self.position
        try:
            value: int = layout.unpack_from(self.data, start)[0]
        except struct.error:
            raise self._too_short(layout.size) from None
        self.position = start + layout.size
        return value

    def uvarint(self) -> int:
        """Return the next unsigned varint; raise MessageError if it is not below 2^31."""
        value = 0
        for count in range(_MAX_UVARINT_BYTES):
            byte = self.number(_BYTE)
            value |= (byte & 0x7F) << (7 * count)
            if byte < 0x80:
                break
        if byte >= 0x80 or value > _MAX_UVARINT:
            raise MessageError(f"a varint before {self.position} is too long")
        return value

    def end(self) -> None:
        """Require that the message ends here; raise MessageError if bytes are left."""
        if self.left_bytes:
            raise MessageError(f"{self.left_bytes} bytes remain after position {self.position}")

    def _too_short(self, length: int) -> MessageError:
        """Return the error for a read of `length` bytes when fewer remain."""
        where = f"at position {self.position}, {self.left_bytes} remain"
        return MessageError(f"{length} bytes are needed {where}")


_BYTE = struct.Struct(">B")
_FLOAT64 = struct.Struct(">d")
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_UUID_BYTES = 16

_Reader: TypeAlias = "Callable[[Cursor], Json]"


def _integer(layout: struct.Struct) -> _Reader:
    """Return a function that reads a number of this struct layout from a cursor."""
    return lambda cursor: cursor.number(layout)


def _boolean(cursor: Cursor) -> Json:
    """Return the next byte as a boolean: whether it is not 0."""
    return cursor.number(_BYTE) != 0


def _float(cursor: Cursor) -> Json:
    """Return the next double; as text if it is not finite, since JSON has no such number."""
    value: float = _FLOAT64.unpack(cursor.read(_FLOAT64.size))[0]
    return value if math.isfinite(value) else str(value)


def _uuid(cursor: Cursor) -> Json:
    """Return the next UUID in Kafka's text form: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(cursor.read(_UUID_BYTES)).decode().rstrip("=")


def _text(cursor: Cursor, length: int) -> Json:
    """Return the next `length` bytes as text; None if the length is negative, which means null."""
    return None if length < 0 else cursor.read(length).decode("utf-8", errors="replace")


def _base64(cursor: Cursor, length: int) -> Json:
    """Return the next `length` bytes as base64; None if the length is negative (null)."""
    return None if length < 0 else base64.b64encode(cursor.read(length)).decode()


_FIXED: Mapping[str, _Reader] = {
    "int8": _integer(struct.Struct(">b")),
    "int16": _integer(_INT16),
    "uint16": _integer(struct.Struct(">H")),
    "int32": _integer(_INT32),
    "int64": _integer(struct.Struct(">q")),
    "bool": _boolean,
    "float64": _float,
    "uuid": _uuid,
}
_SCALARS: Mapping[bool, Mapping[str, _Reader]] = {
    False: {
        **_FIXED,
        "string": lambda cursor: _text(cursor, cursor.number(_INT16)),
        "bytes": lambda cursor: _base64(cursor, cursor.number(_INT32)),
    },
    True: {
        **_FIXED,
        "string": lambda cursor: _text(cursor, cursor.uvarint() - 1),
        "bytes": lambda cursor: _base64(cursor, cursor.uvarint() - 1),
    },
}
"""Readers of scalar types; the key is whether the version is flexible."""


def _array(element: _Reader, is_flexible: bool) -> _Reader:
    """Return a function that reads an array of the given elements from a cursor."""

    def read(cursor: Cursor) -> Json:
        """Return the array's elements; None if the array is null."""
        count = cursor.uvarint() - 1 if is_flexible else cursor.number(_INT32)
        # An element has at least one byte, so a larger count is wrong.
        if count > cursor.left_bytes:
            raise MessageError(f"{count} elements in the {cursor.left_bytes} bytes that remain")
        return None if count < 0 else [element(cursor) for _ in range(count)]

    return read


class _Field(NamedTuple):
    """Field of a struct in one version of a message."""

    name: str
    read: _Reader
    is_nullable: bool
    tag: int | None


class _Struct(NamedTuple):
    """Fields of a struct in one version; `tagged` is None if the version has no tagged fields."""

    fields: tuple[_Field, ...]
    tagged: Mapping[int, _Field] | None

    def read(self, cursor: Cursor) -> dict[str, Json]:
        """Parse the fields at the cursor; tagged fields only if they are set."""
        values: dict[str, Json] = {}
        for name, read, is_nullable, _ in self.fields:
            value = values[name] = read(cursor)
            if value is None and not is_nullable:
                raise MessageError(f"{name} is null")
        if self.tagged is not None:
            for _ in range(cursor.uvarint()):
                field = self.tagged.get(cursor.uvarint())
                content = Cursor(cursor.read(cursor.uvarint()))
                if field is not None:
                    values[field.name] = _tagged(field, content)
        return values


def _tagged(field: _Field, content: Cursor) -> Json:
    """Parse a tagged field from its own bytes; positions in errors are relative to these bytes."""
    try:
        value = field.read(content)
        content.end()
    except MessageError as error:
        raise MessageError(f"{field.name}: {error}") from error
    if value is None and not field.is_nullable:
        raise MessageError(f"{field.name} is null")
    return value


class Layout:
    r"""Layout of a message in all known versions.

    >>> layout = Layout("group  string\n note  int32  1+", newest=1)
    >>> layout.read(Cursor(b"\x00\x02me"), version=0)
    {'group': 'me'}

    Args:
        text: the table of fields.
        newest: the highest known version.
        flexible: the first flexible version; None if no version is.
    """

    def __init__(self, text: str, newest: int = 0, flexible: int | None = None) -> None:
        """Make the readers of all versions from the table of fields."""
        lines = [_Line.of(line) for line in text.splitlines() if line.strip()]
        first = _ANY_VERSION if flexible is None else flexible
        self._versions = [
            _struct(lines, version, is_flexible=version >= first) for version in range(newest + 1)
        ]

    def read(self, cursor: Cursor, version: int) -> dict[str, Json]:
        """Parse the fields at the cursor; tagged fields only if they are set.

        Args:
            cursor: cursor at the start of the fields; it moves to their end.
            version: the version of the message.

        Raises:
            MessageError: the version is unknown, or the bytes do not fit its layout.
        """
        if not 0 <= version < len(self._versions):
            raise MessageError(f"version {version} is not in 0 to {len(self._versions) - 1}")
        return self._versions[version].read(cursor)


class _Line(NamedTuple):
    """Line of a layout's table, parsed."""

    indent: int
    name: str
    type: str
    first_version: int
    last_version: int
    is_nullable: bool
    tag: int | None

    @classmethod
    def of(cls, line: str) -> "_Line":
        """Parse a line of a layout's table, such as `topicId uuid 1+`."""
        name, kind, *rest = line.split()
        versions = rest[0] if rest and rest[0][0].isdigit() else "0+"
        first, _, last = versions.rstrip("+").partition("-")
        return cls(
            indent=len(line) - len(line.lstrip()),
            name=name,
            type=kind,
            first_version=int(first),
            last_version=_ANY_VERSION if versions.endswith("+") else int(last or first),
            is_nullable="nullable" in rest,
            tag=int(rest[rest.index("tag") + 1]) if "tag" in rest else None,
        )


def _struct(lines: list[_Line], version: int, is_flexible: bool) -> _Struct:
    """Make a struct: lines indented like the first are fields, deeper lines are subfields."""
    fields: list[_Field] = []
    for index, line in enumerate(lines):
        if line.indent != lines[0].indent:
            continue
        if not line.first_version <= version <= line.last_version:
            continue
        below: list[_Line] = []
        for inner in lines[index + 1 :]:
            if inner.indent <= line.indent:
                break
            below.append(inner)
        read = _reader(line, below, version, is_flexible)
        fields.append(_Field(line.name, read, line.is_nullable, line.tag))
    tagged = {field.tag: field for field in fields if field.tag is not None}
    plain = tuple(field for field in fields if field.tag is None)
    return _Struct(plain, tagged if is_flexible else None)


def _reader(line: _Line, below: list[_Line], version: int, is_flexible: bool) -> _Reader:
    """Return a function that reads a field; `below` are the indented lines after the field's."""
    if line.type == "[]":
        return _array(_struct(below, version, is_flexible).read, is_flexible)
    if line.type == "{}":
        inner = _struct(below, version, is_flexible)
        if not line.is_nullable:
            return inner.read
        return lambda cursor: None if cursor.uvarint() == 0 else inner.read(cursor)
    if line.type.startswith("[]"):
        return _array(_SCALARS[is_flexible][line.type.removeprefix("[]")], is_flexible)
    return _SCALARS[is_flexible][line.type]
