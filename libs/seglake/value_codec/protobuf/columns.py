"""Columns of a message: one Arrow struct, field by field over many parsed messages.

A field without presence is never null. A member of a oneof is null unless it is set, and
`<oneof>_case` has the name of the set member. `_unknown` has the bytes of fields that the schema
does not have. A message inside itself is unrolled to a limited depth; deeper messages are JSON in a
field `<name>_json`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain, compress, repeat
from operator import attrgetter, itemgetter, methodcaller
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.column_names import free_name
from seglake.value_codec.protobuf.converters import (
    Faults,
    Rows,
    Values,
    json_text,
    of_each,
    of_scalar,
    of_well_known,
    unknown_bytes,
)
from seglake.value_codec.protobuf.message_json import message_json

_MOST_FIELDS = 2_000  # most fields of a message, with those of all messages in it
# For each attempt to write out the columns of a message: how often a message may be inside itself,
# and the most levels of messages. Deeper messages are JSON.
_CUTS = ((4, 32), (3, 32), (2, 32), (1, 32), (1, 16), (1, 8), (1, 4), (1, 2))
# Any: the stubs lack these overloads.
_LISTS: Any = pa.ListArray
_MAPS: Any = pa.MapArray
_AS_LIST = itemgetter(slice(None))


class _Column(NamedTuple):
    """A field of a struct.

    Attributes:
        build: returns the array for messages; gets the row of each, and adds faults by row.
    """

    name: str
    type: Any
    build: Callable[[Values, Rows, Faults], Any]


@dataclass(slots=True)
class MessageColumns:
    """Columns of a message.

    Attributes:
        path: full names of the messages that contain this message.
        cut: how often a message may be inside itself, and most levels; None for a message whose
            inner messages are all JSON, with any number of fields.
        count: number of columns, with those of all messages in it.
        counts: number of columns of each message in it, and of each entry of a map, by full name.
    """

    # Any: google.protobuf has no type hints.
    message: Any
    path: tuple[str, ...] = ()
    cut: tuple[int, int] | None = None
    columns: list[_Column] = field(default_factory=list)
    count: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the columns."""
        used = {each.name for each in self.message.fields}
        proto = _proto(self.message)
        optional = {each.name for each in proto.field if each.proto3_optional}
        for each in self.message.fields:
            self._add(each)
        for oneof in self.message.oneofs:
            if not any(member.name in optional for member in oneof.fields):
                name = free_name(f"{oneof.name}_case", used)
                used.add(name)
                self.columns.append(_case(name, oneof.name))
        self.columns.append(_unknown(free_name("_unknown", used)))
        self._add_count(len(self.columns))

    @property
    def type(self) -> Any:
        """Return the Arrow type."""
        return pa.struct([pa.field(each.name, each.type) for each in self.columns])

    def build(self, messages: Values, rows: Rows, faults: Faults) -> Any:
        """Return the structs of messages.

        Args:
            messages: parsed messages.
            rows: row of each message's record.
            faults: is added to: why a record's values do not fit the columns.
        """
        arrays = [each.build(messages, rows, faults) for each in self.columns]
        return pa.StructArray.from_arrays(arrays, fields=[*self.type])

    def _add_count(self, columns: int) -> None:
        self.count += columns
        if self.count > _MOST_FIELDS and self.cut is not None:
            raise TooManyFieldsError

    def _add(self, each: Any) -> None:
        """Add the column of a field."""
        if _is_map(each):
            self.columns.append(self._map(each))
            return
        name, arrow, build = self._values(each)
        if each.is_repeated:
            self.columns.append(_repeated(each.name, name, arrow, build))
        elif each.has_presence:
            self.columns.append(_optional(each, name, arrow, build))
        else:
            self.columns.append(_Column(name, arrow, _getter(each.name, build)))

    def _map(self, each: Any) -> _Column:
        key, value = (each.message_type.fields_by_name[n] for n in ("key", "value"))
        _, key_type, key_build = self._values(key)
        before = self.count
        name, value_type, value_build = self._values(value)
        self._note(each.message_type.full_name, 2 + self.count - before)
        arrow: Any = pa.map_(key_type, value_type)
        name = each.name if name == "value" else f"{each.name}_json"

        def build(messages: Values, rows: Rows, faults: Faults) -> Any:
            maps = [sorted(getattr(m, each.name).items(), key=_key) for m in messages]
            pairs, offsets, inner = _flat(maps, rows)
            keys = key_build([k for k, _ in pairs], inner, faults)
            values = value_build([v for _, v in pairs], inner, faults)
            return _MAPS.from_arrays(offsets, keys, values, arrow)

        return _Column(name, arrow, build)

    def _values(self, each: Any) -> tuple[str, Any, Callable[[Values, Rows, Faults], Any]]:
        """Return the name of a field's column, and the type and array of its values."""
        if each.message_type is None:
            return each.name, *of_scalar(each)
        known = of_well_known(each.message_type)
        if known is not None:
            return each.name, *known
        full_name = each.message_type.full_name
        path = (*self.path, self.message.full_name)
        if self.cut is None or path.count(full_name) >= self.cut[0] or len(path) >= self.cut[1]:
            return f"{each.name}_json", *of_each(pa.string(), lambda v: json_text(message_json(v)))
        inner = MessageColumns(each.message_type, path, self.cut)
        self._add_count(inner.count)
        self._note(full_name, inner.count)
        for name, columns in inner.counts.items():
            self._note(name, columns)
        return each.name, inner.type, inner.build

    def _note(self, full_name: str, columns: int) -> None:
        self.counts[full_name] = max(columns, self.counts.get(full_name, 0))


class TooManyFieldsError(Exception):
    """Error for a message that unrolls to too many fields."""


def columns_of(message: Any) -> MessageColumns:
    """Return the columns of a message, unrolled as deeply as the number of fields allows."""
    for cut in _CUTS:
        try:
            return MessageColumns(message, cut=cut)
        except TooManyFieldsError:
            continue
    return MessageColumns(message)


def _proto(message: Any) -> Any:
    from google.protobuf import descriptor_pb2

    found = descriptor_pb2.DescriptorProto()
    message.CopyToProto(found)
    return found


def _is_map(each: Any) -> bool:
    inner = each.message_type
    return inner is not None and bool(inner.GetOptions().map_entry)


def _key(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _places(is_there: NDArray[np.bool_]) -> Any:
    """Return for each entry its index among the existing entries; null for missing entries."""
    return pa.array(np.cumsum(is_there) - 1, pa.int64(), mask=~is_there)


def _getter(attribute: str, build: Callable[..., Any]) -> Callable[..., Any]:
    def built(messages: Values, rows: Rows, faults: Faults) -> Any:
        return build([*map(attrgetter(attribute), messages)], rows, faults)

    return built


def _optional(each: Any, name: str, arrow: Any, build: Callable[..., Any]) -> _Column:
    """Return the column of a field that may be unset."""
    from google.protobuf.message_factory import GetMessageClass

    # Measured: the method of the class takes half as long as that of each message.
    has_field = GetMessageClass(each.containing_type).HasField

    def built(messages: Values, rows: Rows, faults: Faults) -> Any:
        has = [*map(has_field, messages, repeat(each.name))]
        is_set = np.array(has, np.bool_)
        found = [*map(attrgetter(each.name), compress(messages, has))]
        some = build(found, rows[is_set], faults)
        return some if is_set.all() else some.take(_places(is_set))

    return _Column(name, arrow, built)


def _repeated(attribute: str, name: str, arrow: Any, build: Callable[..., Any]) -> _Column:
    whole: Any = pa.list_(arrow)

    def built(messages: Values, rows: Rows, faults: Faults) -> Any:
        lists = [*map(attrgetter(attribute), messages)]
        items, offsets, inner = _flat(lists, rows)
        return _LISTS.from_arrays(offsets, build(items, inner, faults), whole)

    return _Column(name, whole, built)


def _flat(lists: list[Any], rows: Rows) -> tuple[list[Any], Any, Rows]:
    """Return all items, the offsets of the lists, and the row of each item."""
    sizes = [*map(len, lists)]
    counts = np.array(sizes, np.int32)
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    # Python's lists are faster than the library's.
    items = [*chain.from_iterable(map(_AS_LIST, compress(lists, sizes)))]
    return items, pa.array(offsets), np.repeat(rows, counts)


def _case(name: str, oneof: str) -> _Column:
    def built(messages: Values, rows: Rows, faults: Faults) -> Any:
        return pa.array([*map(methodcaller("WhichOneof", oneof), messages)], pa.string())

    return _Column(name, pa.string(), built)


def _unknown(name: str) -> _Column:
    from google.protobuf.unknown_fields import UnknownFieldSet

    def built(messages: Values, rows: Rows, faults: Faults) -> Any:
        counts = [*map(len, map(UnknownFieldSet, messages))]
        if not any(counts):  # as in most topics
            return pa.nulls(len(messages), pa.binary())
        found = [
            unknown_bytes(message) if count else None
            for message, count in zip(messages, counts, strict=True)
        ]
        return pa.array(found, pa.binary())

    return _Column(name, pa.binary(), built)
