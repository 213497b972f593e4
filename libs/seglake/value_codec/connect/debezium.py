"""SQL of a view that unwraps Debezium's envelopes. Pure."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seglake.value_codec.json.shapes import Field


def unwrapped_sql(table: str, fields: Sequence[Field], quote: str = '"') -> str | None:
    """Return a query that has a row's state after each change, or None if there are no envelopes.

    The query has the columns of `after` (of `before` for a deleted row) instead of the envelope's
    members, and also `_op` and the table's columns whose names begin with `_`.

    Args:
        table: name of the table or view, quoted if it must be.
        fields: columns of the table.
        quote: the mark around names: `"` for DuckDB, a backtick for Spark.

    >>> state = pa.struct([pa.field("id", pa.int32())])
    >>> columns = [pa.field("before", state), pa.field("after", state), pa.field("op", pa.string())]
    >>> print(unwrapped_sql("t", columns))
    SELECT CASE WHEN "op" = 'd' THEN "before"."id" ELSE "after"."id" END AS "id",
      "op" AS "_op"
    FROM t
    WHERE "op" IS NOT NULL
    """
    types = {field.name: field.type for field in fields}
    before, after = _members(types.get("before")), _members(types.get("after"))
    if before is None or after is None or "op" not in types:
        return None

    def quoted(*names: str) -> str:
        return ".".join(quote + name.replace(quote, quote * 2) + quote for name in names)

    own = [name for name in types if name.startswith("_")]
    columns = [quoted(name) for name in own]
    known = {name.lower() for name in [*own, "_op"]}
    for name in dict.fromkeys([*after, *before]):
        old = quoted("before", name) if name in before else "NULL"
        new = quoted("after", name) if name in after else "NULL"
        shown = f"{name}_" if name.lower() in known else name
        state = f"CASE WHEN {quoted('op')} = 'd' THEN {old} ELSE {new} END"
        columns.append(f"{state} AS {quoted(shown)}")
    columns.append(f"{quoted('op')} AS {quoted('_op')}")
    listed = ",\n  ".join(columns)
    return f"SELECT {listed}\nFROM {table}\nWHERE {quoted('op')} IS NOT NULL"


# Any: pyarrow's stubs do not know the type of a struct's fields.
def _members(state: Any) -> list[str] | None:
    """Return the names of a struct's fields, or None for another type."""
    if state is None or not pa.types.is_struct(state):
        return None
    return [field.name for field in state]
