"""Types of a field in groups, each of which is one column: see `merging`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from seglake.value_codec.column_notes import Field, known_type, simple_type
from seglake.value_codec.type_promotion import promoted

_types = pa.types


@dataclass(slots=True)
class TypeGroup:
    """Types of one field that share a column, since they can be promoted to one type.

    Attributes:
        known: the type that they are promoted to.
        types: the types, by number.
        there: column of the table that holds them; None for a new one.
    """

    known: pa.DataType
    types: dict[int, pa.DataType]
    there: "Field | None" = None

    def admits(self, number: int, source: pa.DataType) -> bool:
        """Add a type if it can be promoted, and does not widen a column that is there."""
        wider = _common(self.known, source)
        if wider is None or (self.there is not None and wider != self.known):
            return False
        self.types[number], self.known = source, wider
        return True


def type_groups(sources: Mapping[int, pa.DataType], there: Sequence[Field] = ()) -> list[TypeGroup]:
    """Return groups of types, the groups of existing columns first; null types are in none."""
    found = [TypeGroup(known_type(column), {}, column) for column in there]
    for number, source in sources.items():
        if _types.is_null(source) or any(group.admits(number, source) for group in found):
            continue
        found.append(TypeGroup(simple_type(source), {number: source}))
    return found


def _common(common: pa.DataType, source: pa.DataType) -> pa.DataType | None:
    """Return the type to which both types can be promoted; None if there is none."""
    known = simple_type(source)
    if _types.is_null(common) or _types.is_null(known):
        return known if _types.is_null(common) else common
    if isinstance(common, pa.ListType) and isinstance(known, pa.ListType):
        item = _common(common.value_type, known.value_type)
        return None if item is None else pa.list_(item)
    if isinstance(common, pa.MapType) and isinstance(known, pa.MapType):
        key = _common(common.key_type, known.key_type)
        item = _common(common.item_type, known.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    return promoted(common, known)
