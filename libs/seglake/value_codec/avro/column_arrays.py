"""Makes Arrow arrays from the column entries that the kernel stored."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.avro.column_tree import Columns, Node
from seglake.value_codec.avro.json_text import json_text
from seglake.value_codec.avro.schema_types import Kind, Logical
from seglake.value_codec.decoded import ArrowArray, TooManyItemsError, made, validity

_Flags = NDArray[np.uint8]
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_UUID_DIGITS = [place for place in range(36) if place not in (8, 13, 18, 23)]
_LARGEST_OFFSET = (1 << 31) - 1


class StoredColumns(NamedTuple):
    """Entries of all columns, as the kernel stores them.

    Attributes:
        words: words of all slots.
        slots: index of each slot's first word, and the index after all.
        widths: number of words in an entry of each slot.
        levels: level of each slot.
        flags: validity bytes.
        flag_starts: index of each column's first validity byte, and the index after all.
        flag_levels: level of each column of validity bytes.
        room: number of entries that there is room for, by level.
        entries: next entry of each level.
        kept: next entry of each level, after the last value that was read completely.
    """

    words: NDArray[np.int64]
    slots: NDArray[np.int64]
    widths: NDArray[np.int64]
    levels: NDArray[np.int64]
    flags: _Flags
    flag_starts: NDArray[np.int64]
    flag_levels: NDArray[np.int64]
    room: NDArray[np.int64]
    entries: NDArray[np.int64]
    kept: NDArray[np.int64]

    def clear(self) -> None:
        """Remove all entries."""
        for first, width, level in zip(self.slots[:-1], self.widths, self.levels, strict=True):
            self.words[first : first + width * self.entries[level]] = 0
        for first, level in zip(self.flag_starts[:-1], self.flag_levels, strict=True):
            self.flags[first : first + self.entries[level]] = 0
        self.entries[:] = self.kept[:] = 0


def empty_columns(columns: Columns, room: NDArray[np.int64]) -> StoredColumns:
    """Return zeroed memory for the entries of columns.

    Args:
        columns: the columns.
        room: number of entries of each level.
    """
    levels = np.array([level for level, _ in columns.slots], np.int64)
    widths = np.array([width for _, width in columns.slots], np.int64)
    flag_levels = np.array(columns.flags, np.int64)
    slots, flag_starts = _edges(room[levels] * widths), _edges(room[flag_levels])
    entries, kept = np.zeros((2, columns.levels), np.int64)
    return StoredColumns(
        *(np.zeros(slots[-1], np.int64), slots, widths, levels),
        *(np.zeros(flag_starts[-1], np.uint8), flag_starts, flag_levels),
        *(room, entries, kept),
    )


def _edges(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the start of each part that follows the others, and the end of all."""
    return np.concatenate([[0], np.cumsum(sizes)])


class ArrayMaker(NamedTuple):
    """Maker of the arrays of one run of the kernel; they share no memory with the entries.

    Attributes:
        stored: the entries.
        data: bytes that ranges refer to.
        copy: the kernel `copy_ranges`.
    """

    stored: StoredColumns
    data: NDArray[np.uint8]
    copy: Callable[..., None]

    def array(self, node: Node, is_sound: _Flags | None = None) -> ArrowArray:
        """Return the array of a node.

        Args:
            node: the node.
            is_sound: 0 for entries that become null, regardless of the stored value.
        """
        count = int(self.stored.entries[node.level])
        valid = self._valid(node, count)
        if is_sound is not None:
            valid = is_sound if valid is None else valid & is_sound
        if node.is_json:
            return self._texts(node, count, valid)
        bitmap = None if valid is None else validity(valid)
        children = [self.array(child) for child in node.children]
        match node.of.kind:
            case Kind.ARRAY | Kind.MAP:
                return self._list(node, count, bitmap, children)
            case Kind.RECORD | Kind.UNION if not pa.types.is_null(node.arrow):
                return made(node.arrow, count, [bitmap], children)
        return self._scalar(node, count, bitmap)

    def _valid(self, node: Node, count: int) -> _Flags | None:
        """Return the validity bytes of a node's entries; None if no entry is null."""
        if node.flags >= 0:
            start = int(self.stored.flag_starts[node.flags])
            return self.stored.flags[start : start + count]
        if node.of.kind is Kind.UNION and node.children:
            set_members = [self._valid(child, count) for child in node.children]
            return cast("_Flags", np.bitwise_or.reduce([m for m in set_members if m is not None]))
        return None

    def _words(self, node: Node, count: int) -> NDArray[np.int64]:
        start = int(self.stored.slots[node.slot])
        return self.stored.words[start : start + count * node.width]

    def _scalar(self, node: Node, count: int, bitmap: Any) -> ArrowArray:
        """Return the array of a type that contains no other types."""
        if pa.types.is_null(node.arrow):
            return pa.nulls(count)
        if not node.width:  # a fixed type of size 0
            offsets = pa.py_buffer(np.zeros(count + 1, np.int32).data)
            return made(node.arrow, count, [bitmap, offsets, pa.py_buffer(b"")])
        words = self._words(node, count)
        if node.width == 2 and not pa.types.is_decimal(node.arrow):
            ranges = words.reshape(-1, 2)
            if node.of.logical is Logical.UUID and node.of.kind is Kind.FIXED:
                return _uuids(ranges[:, 0], self.data, bitmap)
            return self._bytes(node.arrow, ranges, bitmap)
        if node.of.kind is Kind.ENUM:
            if not node.of.symbols:
                return pa.nulls(count, pa.string())
            indices = made(pa.int64(), count, [bitmap, pa.py_buffer(words.data)])
            symbols: ArrowArray = pa.array(node.of.symbols, pa.string())
            return symbols.take(cast("Any", indices))
        if node.of.kind is Kind.BOOLEAN:
            content = np.packbits(words.astype(np.bool_), bitorder="little")
        elif node.arrow.bit_width == 32:
            content = words.astype(np.int32).view(np.uint8)
        else:
            content = words.copy().view(np.uint8)
        return made(node.arrow, count, [bitmap, pa.py_buffer(content.data)])

    def _bytes(self, arrow: pa.DataType, ranges: NDArray[np.int64], bitmap: Any) -> ArrowArray:
        size = int(ranges[:, 1].sum())
        if size > _LARGEST_OFFSET:
            raise TooManyItemsError
        offsets, content = np.empty(len(ranges) + 1, np.int32), np.empty(size, np.uint8)
        self.copy(ranges, self.data, offsets, content)
        return made(
            arrow, len(ranges), [bitmap, pa.py_buffer(offsets.data), pa.py_buffer(content.data)]
        )

    def _list(self, node: Node, count: int, bitmap: Any, children: list[ArrowArray]) -> ArrowArray:
        offsets = pa.py_buffer(_offsets(self._words(node, count)).data)
        if node.of.kind is Kind.ARRAY:
            return made(node.arrow, count, [bitmap, offsets], children)
        entries_type = cast("pa.MapType[Any, Any]", node.arrow)
        entries = pa.struct([entries_type.key_field, entries_type.item_field])
        pairs = made(entries, len(children[0]), [None], children)
        return made(node.arrow, count, [bitmap, offsets], [pairs])

    def _texts(self, node: Node, count: int, valid: _Flags | None) -> ArrowArray:
        """Return an array of JSON texts, for types that are too deep for columns."""
        ranges = self._words(node, count).reshape(-1, 2).tolist()
        found = [
            json_text(node.of, self.data, start) if size and (valid is None or valid[row]) else None
            for row, (start, size) in enumerate(ranges)
        ]
        return pa.array([None if text == "null" else text for text in found], pa.string())


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return Arrow offsets for items of these lengths: each start, and the last end."""
    found = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=found[1:])
    return found


def _uuids(starts: NDArray[np.int64], data: NDArray[np.uint8], bitmap: Any) -> ArrowArray:
    """Return an array of UUIDs as text, made from 16 bytes each."""
    texts = np.full((len(starts), 36), ord("-"), np.uint8)
    if len(data) >= 16:  # the start of a null entry is 0
        content = data[starts[:, None] + np.arange(16)]
        digits = np.stack([_HEX[content >> 4], _HEX[content & 15]], axis=2)
        texts[:, _UUID_DIGITS] = digits.reshape(-1, 32)
    offsets = np.arange(len(starts) + 1, dtype=np.int32) * np.int32(36)
    return made(
        pa.string(), len(starts), [bitmap, pa.py_buffer(offsets.data), pa.py_buffer(texts.data)]
    )
