"""Columns of a schema: a tree of its types, with their Arrow types.

| Avro | Arrow |
| --- | --- |
| null, boolean, int, long, float, double | null, bool, int32, int64, float, double |
| bytes, fixed, duration, a decimal of more than 38 digits | binary |
| string, enum, uuid | string |
| decimal, date | decimal128, date32 |
| timestamp-, local-timestamp-, time-, with their unit | timestamp of UTC, of no zone, time |
| record, array, map | struct, list, map |
| `[null, T]`, `[T]` | T |
| any other union | struct of `member_<type or full name>`, of which one is set; null has none |

A record inside itself is written out to `_RECURSIONS`, types are to `_LEVELS`. A field of deeper
types is a text: its value as JSON (see `json_text`), in a field `<name>_json`. Types of which more
than `_MOST_NODES` would be written out are cut at fewer recursions and levels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.avro.schema_types import AvroType, Kind, Logical
from seglake.value_codec.column_names import free_name

MOST_DIGITS = 38
"""Most digits that a decimal of Arrow and Delta can have."""

_RECURSIONS, _LEVELS, _MOST_NODES = 4, 32, 10_000

_PLAIN: Mapping[Kind, pa.DataType] = {
    Kind.NULL: pa.null(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT: pa.int32(),
    Kind.LONG: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.BYTES: pa.binary(),
    Kind.STRING: pa.string(),
    Kind.FIXED: pa.binary(),
    Kind.ENUM: pa.string(),
}
_LOGICAL: Mapping[Logical, pa.DataType] = {
    Logical.DATE: pa.date32(),
    Logical.TIME_MILLIS: pa.time32("ms"),
    Logical.TIME_MICROS: pa.time64("us"),
    Logical.TIMESTAMP_MILLIS: pa.timestamp("ms", "UTC"),
    Logical.TIMESTAMP_MICROS: pa.timestamp("us", "UTC"),
    Logical.TIMESTAMP_NANOS: pa.timestamp("ns", "UTC"),
    Logical.LOCAL_TIMESTAMP_MILLIS: pa.timestamp("ms"),
    Logical.LOCAL_TIMESTAMP_MICROS: pa.timestamp("us"),
    Logical.LOCAL_TIMESTAMP_NANOS: pa.timestamp("ns"),
    Logical.UUID: pa.string(),
}


@dataclass(slots=True, eq=False)
class Node:
    """A type at one place of the tree.

    Attributes:
        of: the Avro type; of `[null, T]` and `[T]`, T.
        arrow: its Arrow type.
        width: number of words of 64 bits in an entry: 0 for structs and for types with one value;
            1 for a number, the bits of a float, or how many items a list has; 2 for the start and
            the length of bytes in the data, or for a decimal.
        level: number of the list, 0 for none, whose items have an entry each.
        slot: number of its stored entries; -1 if nothing is stored.
        flags: number of its validity bytes; -1 if an entry is never null.
        item_level: level of the items of a list or a map.
        union: the union that `of` is a branch of, if it is `[null, T]` or `[T]`.
        children: fields of a record, members of a union (the branches that are not null, in their
            order), the items of a list, or the values of a map.
        is_json: whether the values are texts of JSON.
    """

    of: AvroType
    arrow: pa.DataType
    width: int = 0
    level: int = 0
    slot: int = -1
    flags: int = -1
    item_level: int = -1
    union: AvroType | None = None
    children: tuple["Node", ...] = ()
    is_json: bool = False


class Columns(NamedTuple):
    """Tree of a schema's columns.

    Attributes:
        top: the node of whole values.
        slots: level and width of each slot.
        flags: level of each column of validity bytes.
        levels: number of levels.
    """

    top: Node
    slots: list[tuple[int, int]]
    flags: list[int]
    levels: int

    def bytes_of(self, totals: NDArray[np.int64]) -> int:
        """Return the memory for the entries of all slots; `totals` has their number by level."""
        entries: list[int] = totals.tolist()
        words = sum(entries[level] * width for level, width in self.slots)
        return 8 * words + sum(entries[level] for level in self.flags)


class _TooManyError(Exception):
    """Error for a schema with more nodes than a tree may have."""


def columns_of(schema: AvroType) -> Columns:
    """Return the columns of a schema, cut where its types are too deep or too many.

    >>> from seglake.value_codec.avro.schema_types import parsed_schema
    >>> columns_of(parsed_schema('["null", {"type": "array", "items": "int"}]', {})).top.arrow
    ListType(list<item: int32>)
    """
    cuts = [(recursions, _LEVELS) for recursions in range(_RECURSIONS, 0, -1)]
    cuts += [(1, levels) for levels in (16, 8, 4, 2)]
    for recursions, levels in cuts:
        try:
            return _Builder(recursions, levels, _MOST_NODES).columns(schema)
        except _TooManyError:
            continue
    return _Builder(1, 1, None).columns(schema)


def checked_digits(of: AvroType) -> int:
    """Return the most digits of a decimal; 0 for other types, and for decimals stored as bytes."""
    return of.precision if of.logical is Logical.DECIMAL and of.precision <= MOST_DIGITS else 0


@dataclass(slots=True)
class _Builder:
    """Builder of a tree.

    Attributes:
        recursions: how often a record may be inside itself, the outermost one included.
        most_levels: deepest nesting.
        left: nodes that may follow; None for no bound.
        path: records around the next node.
    """

    recursions: int
    most_levels: int
    left: int | None
    path: list[AvroType] = field(default_factory=list)
    slots: list[tuple[int, int]] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    levels: int = 1

    def columns(self, schema: AvroType) -> Columns:
        """Build the tree of a schema's columns."""
        return Columns(self.node(schema, 0, 0), self.slots, self.flags, self.levels)

    def node(self, of: AvroType, level: int, depth: int) -> Node:
        """Build the node of a type, and the nodes of all types in it."""
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise _TooManyError
        if (depth >= self.most_levels and _has_parts(of)) or self._is_inside_itself(of):
            return self._json(of, level)
        match of.kind:
            case Kind.UNION:
                return self._union(of, level, depth)
            case Kind.RECORD:
                return self._record(of, level, depth)
            case Kind.ARRAY | Kind.MAP:
                return self._list(of, level, depth)
        return self._stored(Node(of, scalar_type(of), level=level), _width(of))

    def _is_inside_itself(self, of: AvroType) -> bool:
        """Return whether a type, or its direct content, is a record nested too often in itself."""
        if of.kind is Kind.RECORD:
            return self.path.count(of) >= self.recursions
        return any(self._is_inside_itself(branch) for branch in of.branches)

    def _stored(self, node: Node, width: int) -> Node:
        """Reserve a slot for the entries of a node."""
        node.width = width
        if width:
            node.slot = len(self.slots)
            self.slots.append((node.level, width))
        return node

    def _flagged(self, node: Node) -> Node:
        """Reserve validity bytes for the entries of a node."""
        node.flags = len(self.flags)
        self.flags.append(node.level)
        return node

    def _json(self, of: AvroType, level: int) -> Node:
        """Return a node with JSON text instead of a type; a value without bytes needs no text."""
        if of.is_empty:
            return Node(of, pa.null(), level=level)
        return self._stored(Node(of, pa.string(), level=level, is_json=True), 2)

    def _union(self, of: AvroType, level: int, depth: int) -> Node:
        inner = [branch for branch in of.branches if branch.kind is not Kind.NULL]
        if not inner:
            return Node(of, pa.null(), level=level, union=of)
        if len(inner) == 1 and inner[0].kind is not Kind.UNION:
            node = self.node(inner[0], level, depth)
            node.union = of
            return self._flagged(node)
        members = tuple(self._flagged(self.node(each, level, depth + 1)) for each in inner)
        names = [f"member_{each.name or each.kind}" for each in inner]
        return Node(of, _struct(names, members), level=level, children=members)

    def _record(self, of: AvroType, level: int, depth: int) -> Node:
        self.path.append(of)
        fields = tuple(self.node(each.type, level, depth + 1) for each in of.fields)
        self.path.pop()
        own = {each.name for each in of.fields}
        names = [
            free_name(f"{each.name}_json", own) if node.is_json else each.name
            for each, node in zip(of.fields, fields, strict=True)
        ]
        return Node(of, _struct(names, fields), level=level, children=fields)

    def _list(self, of: AvroType, level: int, depth: int) -> Node:
        node = self._stored(Node(of, pa.null(), level=level), 1)
        node.item_level = self.levels
        self.levels += 1
        item = self.node(of.branches[0], node.item_level, depth + 1)
        if of.kind is Kind.ARRAY:
            node.children, node.arrow = (item,), pa.list_(item.arrow)
        else:
            key = self._stored(Node(KEY, pa.string(), level=node.item_level), 2)
            node.children, node.arrow = (key, item), pa.map_(pa.string(), item.arrow)
        return node


KEY = AvroType(Kind.STRING)
"""Avro type of the keys of all maps."""


def scalar_type(of: AvroType) -> pa.DataType:
    """Return the Arrow type of an Avro type that contains no other types."""
    if digits := checked_digits(of):
        return pa.decimal128(digits, of.scale)
    return (of.logical and _LOGICAL.get(of.logical)) or _PLAIN[of.kind]


def _width(of: AvroType) -> int:
    """Return the number of words in an entry of a type that contains no others."""
    if of.is_empty:
        return 0
    return 2 if of.kind in (Kind.STRING, Kind.BYTES, Kind.FIXED) else 1


def _has_parts(of: AvroType) -> bool:
    """Return whether a type contains other types: a record, array, map or union."""
    if of.kind is not Kind.UNION:
        return bool(of.fields or of.branches)
    inner = [branch for branch in of.branches if branch.kind is not Kind.NULL]
    return len(inner) > 1 or any(_has_parts(branch) for branch in inner)


def _struct(names: list[str], nodes: tuple[Node, ...]) -> pa.DataType:
    """Return a struct; the name of a repeated field gets an underscore."""
    others: set[str] = set()
    fields = []
    for name, node in zip(names, nodes, strict=True):
        free = free_name(name, others)
        others.add(free)
        fields.append(pa.field(free, node.arrow))
    return pa.struct(fields)
