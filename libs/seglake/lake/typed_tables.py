"""Finds, creates and extends typed tables: `typed/<topic>` and `typed/<topic>__<record>`.

A typed table has a row for each record whose value decodes, and for each tombstone. A commit
decides in `value_rejects` and publishes in `typed_checkpoints`; typed tables follow. So a topic may
get another typed table at any time: the new table gets the generations of earlier commits without
rows, see `align`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from seglake.lake.app_versions import app_id
from seglake.lake.delta_tables import LOG_FOLDER, OWN_FOLDER, LakeTables, columns_of
from seglake.lake.errors import TypedTableError
from seglake.lake.lake_folder import opening
from seglake.lake.parquet_files import folder_value
from seglake.lake.table_changes import APPEND_ONLY, extend_table, set_property
from seglake.lake.table_commit import add_files
from seglake.lake.table_creation import create_table
from seglake.lake.table_view import view_of
from seglake.lake.tables import (
    HEADERS_TYPE,
    Column,
    CommitTables,
    Table,
    bigint_columns,
    binary_columns,
    boolean_columns,
    int_columns,
    string_columns,
    timestamp_columns,
)
from seglake.lake.value_tables import TYPED_CHECKPOINTS, VALUE_REJECTS, VALUE_TABLES

TYPED_FOLDER = "typed"
_PROPERTIES = ("seglake.topic", "seglake.record", "seglake.key_form", "seglake.value_form")
FORMS = _PROPERTIES[2:]
"""Properties with the forms of keys and of values; "" after a drop of the table's rows."""
_ORDER = "seglake.order"  # how many tables the topic had when the table was created

PLACE_FIELDS = (
    *string_columns("_source_id _topic_id"),
    *int_columns("_partition"),
    *bigint_columns("_offset"),
    *timestamp_columns("_timestamp"),
    *bigint_columns("_timestamp_ms"),
    *string_columns("_transaction_state"),
    pa.field("_headers", HEADERS_TYPE),
    *bigint_columns("_generation"),
    *string_columns("_run_id"),
    *boolean_columns("_tombstone"),
    *int_columns("_schema_id"),
    *string_columns("_schema_guid"),
    *int_columns("_key_schema_id"),
    *binary_columns("_key_raw"),
)
"""First columns of each typed table; `_generation` is that of the row in `records`."""


class TypedTable(NamedTuple):
    """A table with the decoded values of a topic.

    Attributes:
        record: full name of the values' record type; "" for values that are no records.
        key_form: form of the topic's keys, chosen when the table was made.
        value_form: form of the topic's values.
        order: number of tables that the topic had when the table was created.
    """

    topic: str
    record: str
    key_form: str
    value_form: str
    table: Table
    order: int = 0


def typed_name(topic: str, record: str = "") -> str:
    """Return the name of the typed table of a topic, or of one of its record types."""
    return f"{TYPED_FOLDER}/{folder_value(topic)}" + (f"__{folder_value(record)}" if record else "")


def typed_table(
    name: str, facts: tuple[str, str, str, str], columns: Iterable[Column]
) -> TypedTable:
    """Return the definition of a typed table.

    Args:
        name: name of the table.
        facts: topic, record type, form of the keys and form of the values.
        columns: columns of the key and of the value.
    """
    fields = [*columns]  # the files may lack any of these columns
    table = Table.of(
        name,
        *PLACE_FIELDS,
        *fields,
        statistics="_partition _offset _timestamp _generation",
        topics=frozenset({facts[0]}),
        added=frozenset(field.name for field in fields),
    )
    return TypedTable(*facts, table)


def is_typed(table: Table) -> bool:
    """Return whether a table is a typed table, whose files may lack later columns and fields."""
    return table.name.startswith(f"{TYPED_FOLDER}/")


def typed_tables(tables: LakeTables) -> list[TypedTable]:
    """Return the typed tables of a lake with their present columns.

    A topic's tables are in the order in which runs created them, those of one run by name. A Delta
    table in the same folder that seglake did not create is skipped.
    """
    names = (
        f"{TYPED_FOLDER}/{each.name}" for each in tables.entries(TYPED_FOLDER) if each.is_folder
    )
    there = (name for name in names if tables.has(Table.of(name)))
    found = (_found(tables, name) for name in sorted(there))
    return sorted((each for each in found if each is not None), key=lambda each: each.order)


def _found(tables: LakeTables, name: str) -> TypedTable | None:
    """Return the typed table with a name; None for another Delta table.

    Raises:
        TypedTableError: the table's columns are not as seglake creates them.
    """
    state = tables.unchecked_state(Table.of(name))
    topic, record, key, value = (state.settings.get(name, "") for name in _PROPERTIES)
    if name not in (typed_name(topic), typed_name(topic, record)):
        return None
    fields = columns_of(state.schema_text)[0]
    names = {field.name for field in PLACE_FIELDS}
    made = typed_table(
        name, (topic, record, key, value), [field for field in fields if field.name not in names]
    )
    if made.table.schema.names != fields.names:
        raise TypedTableError(table=name, reason="it is not as seglake creates it")
    return made._replace(order=int(state.settings.get(_ORDER, 0)))


def _own(tables: LakeTables, name: str) -> TypedTable:
    """Return the typed table with a name; raise TypedTableError for another Delta table."""
    found = _found(tables, name)
    if found is None:
        raise TypedTableError(table=name, reason="it is a table that seglake did not create")
    return found


def commit_tables(found: Iterable[TypedTable]) -> CommitTables:
    """Return the tables of the commits of decoded values."""
    return CommitTables((VALUE_REJECTS, *(each.table for each in found), TYPED_CHECKPOINTS))


def create_value_tables(tables: LakeTables) -> None:
    """Create the tables with fixed names that `deserialize` writes, if they are missing."""
    with opening(tables.lake_path):
        for table in VALUE_TABLES:
            if not tables.has(table):
                create_table(tables, table, {APPEND_ONLY: "false"})


def create_or_extend(
    tables: LakeTables, requested: TypedTable, known: Mapping[str, TypedTable]
) -> TypedTable:
    """Create a typed table, or add missing columns and fields; return it with its new columns.

    Args:
        tables: the lake.
        requested: the table with the types that it needs.
        known: the typed tables that exist, by name.

    Raises:
        TypedTableError: as `check_writable`.
    """
    name = requested.table.name
    check_writable(tables, requested, known)
    if name not in known:
        facts = dict(zip(_PROPERTIES, requested[:4], strict=True))
        facts[_ORDER] = str(sum(each.topic == requested.topic for each in known.values()))
        create_table(tables, requested.table, {APPEND_ONLY: "false", **facts})
    there = _own(tables, name)
    check_writable(tables, requested, {name: there})  # another run may have been faster
    if not there.value_form:
        for form, value in zip(FORMS, requested[2:4], strict=True):
            set_property(
                tables, there.table, form, value, purpose="forms", check=lambda settings: None
            )
    extend_table(tables, there.table, requested.table.schema)
    return _own(tables, name)


def check_writable(
    tables: LakeTables, requested: TypedTable, known: Mapping[str, TypedTable]
) -> None:
    """Require that a table can be created or extended; nothing is changed.

    Args:
        tables: the lake.
        requested: the table with the types that it needs.
        known: the typed tables that were found, by name; another run may have created more.

    Raises:
        TypedTableError: the table is of another topic or record, a column has another type, or the
            table's folder has other content.
    """
    name = requested.table.name
    there = known.get(name)
    if there is None:
        own = (LOG_FOLDER, OWN_FOLDER)
        strange = [each.name for each in tables.entries(name) if each.name not in own]
        # Look for the table after its files: another run may just have created and filled it.
        if not tables.has(requested.table):
            if strange:
                reason = f"its folder holds {strange[0]} and is not a table"
                raise TypedTableError(table=name, reason=reason)
            return
        there = _own(tables, name)
    is_other_form = there.value_form and there[2:4] != requested[2:4]
    if there[:2] != requested[:2] or is_other_form:
        raise TypedTableError(table=name, reason=f"it is the table of topic {there.topic}")
    if changed := changed_types(there.table.schema, requested.table.schema):
        raise TypedTableError(table=name, reason=f"{changed[0]} has another type now")


def changed_types(there: pa.Schema, requested: pa.Schema) -> list[str]:
    """Return the columns and fields whose types differ, except for added fields of structs."""
    return _changed(pa.struct([*there]), pa.struct([*requested]), "")


def _changed(there: pa.DataType, requested: pa.DataType, path: str) -> list[str]:
    if pa.types.is_struct(there) and pa.types.is_struct(requested):
        both = [field for field in requested if there.get_field_index(field.name) >= 0]
        return [
            found
            for field in both
            for found in _changed(there.field(field.name).type, field.type, f"{path}.{field.name}")
        ]
    if pa.types.is_list(there) and pa.types.is_list(requested):
        return _changed(there.value_type, requested.value_type, f"{path}.element")
    if pa.types.is_map(there) and pa.types.is_map(requested):
        return _changed(there.item_type, requested.item_type, f"{path}.value")
    return [] if there == requested else [path.removeprefix(".")]


def align(
    tables: LakeTables, found: Iterable[TypedTable], sources: Sequence[str], run_id: str
) -> None:
    """Give typed tables the published generations of their topics, without rows.

    A commit is published after it has reached all typed tables that its driver knew. So a table
    below the published generation was created later, and lacks no rows.
    """
    published = tables.state(TYPED_CHECKPOINTS)
    for each in found:
        apps = {app_id(source, each.topic) for source in sources}
        state = tables.state(each.table)
        due = [app for app in apps if state.generation(app) < published.generation(app)]
        if due:
            add_files(
                view_of(tables, each.table),
                [],
                commit_info={"run_id": run_id},
                generations={app: published.generation(app) for app in due},
            )
