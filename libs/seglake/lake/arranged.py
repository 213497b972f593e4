"""Gives arrays the fields of a table, which may be more than theirs, in another order."""

from typing import Any

import numpy as np
import pyarrow as pa


# Any: pyarrow's stubs make arrays and types generic.
def arranged(values: Any, kind: Any) -> Any:
    """Return values with a type's fields at every depth; missing fields become null.

    >>> kind = pa.struct([("b", pa.string()), ("a", pa.int64())])
    >>> arranged(pa.array([{"a": 1}]), kind).to_pylist()
    [{'b': None, 'a': 1}]
    """
    if values.type == kind:
        return values
    if pa.types.is_struct(kind):
        there = {field.name: index for index, field in enumerate(values.type)}
        children = [
            arranged(values.field(there[field.name]), field.type)
            if field.name in there
            else pa.nulls(len(values), field.type)
            for field in kind
        ]
        return pa.StructArray.from_arrays(children, fields=[*kind], mask=values.is_null())
    if pa.types.is_map(kind):
        keys, items = arranged(values.keys, kind.key_type), arranged(values.items, kind.item_type)
        absent = values.is_null()
        made: Any = pa.MapArray.from_arrays  # the stubs lack the parameter `type`
        return made(_offsets(values), keys, items, type=kind, mask=absent)
    if pa.types.is_list(kind):
        inner = arranged(values.values, kind.value_type)
        absent = values.is_null()
        return pa.ListArray.from_arrays(_offsets(values), inner, type=kind, mask=absent)
    return values.cast(kind)


def rows_arranged(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows with the columns of a schema, and its fields at every depth."""
    there = {*rows.column_names}
    columns = [
        arranged(rows.column(field.name).combine_chunks(), field.type)
        if field.name in there
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _offsets(values: Any) -> Any:
    """Return the offsets of lists as an array that starts at 0, as masks require it."""
    return pa.array(np.array(values.offsets, np.int32))
