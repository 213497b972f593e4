"""Changes the properties and columns of a table, but none of its rows. Runs on the driver only."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from seglake.lake.delta_tables import Handle, LakeTables, columns_of, state_of
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.lake_format import refuse_newer
from seglake.lake.log_durability import sync_log
from seglake.lake.table_log import TableState
from seglake.lake.tables import Table
from seglake.storage.errors import PlaceError

APPEND_ONLY = "delta.appendOnly"
"""Property of tables from which no commit may remove rows."""


def allow_removals(tables: LakeTables, table: Table) -> None:
    """Make a table no longer append-only, if it still is; durable on return.

    Raises:
        PlaceError: all attempts to commit failed.
    """
    if tables.state(table).settings.get(APPEND_ONLY) != "false":
        set_property(
            tables, table, APPEND_ONLY, "false", purpose="removals", check=lambda settings: None
        )


def set_property(
    tables: LakeTables,
    table: Table,
    name: str,
    value: str,
    *,
    purpose: str,
    check: Callable[[Mapping[str, str]], None],
) -> None:
    """Set a property of a table without changing rows; durable on return.

    If two drivers set properties at the same time, both commits succeed, one after the other.

    Args:
        tables: the lake.
        table: the table.
        name: name of the property.
        value: new value of the property.
        purpose: text for the commit's info.
        check: raises an error if the value conflicts with the table's other properties.

    Raises:
        PlaceError: all attempts to commit failed.
    """
    alter(
        tables,
        table,
        "set a property of",
        lambda handle: set_properties(handle, {name: value}, purpose),
        check=check,
        is_done=lambda state: state.settings.get(name) == value,
    )


def alter(
    tables: LakeTables,
    table: Table,
    action: str,
    change: Callable[[Handle], None],
    *,
    check: Callable[[Mapping[str, str]], None],
    is_done: Callable[[TableState], bool],
) -> None:
    """Alter a table until `is_done` holds for its newest version; durable on return.

    Another driver may alter the table at the same time. So a commit that fails is tried again.

    Args:
        tables: the lake.
        table: the table.
        action: verb for messages.
        change: commits the change with a handle at the newest version.
        check: raises an error if the properties of the newest version forbid the change.
        is_done: returns whether a version already has the change.

    Raises:
        PlaceError: all attempts to commit failed.
    """
    changed = RuntimeError("another program changes it at the same time")
    refused = tables.failure(action, table, changed)
    for pause_s in tables.storage.pauses_s(tables.lake_path):
        time.sleep(pause_s)
        handle = tables.unchecked(table)
        check(state_of(handle).settings)
        try:
            with tables.named(action, table):
                change(handle)
        except PlaceError as error:
            refused = error
        with tables.named("open the table", table):
            handle.update_incremental()
        state = state_of(handle)
        if is_done(state):
            sync_log(tables, table, state.version)
            return
    raise refused


def set_properties(handle: Handle, properties: dict[str, str], purpose: str) -> None:
    """Commit properties of a table, with the purpose in the commit's info."""
    handle.alter.set_table_properties(
        properties, raise_if_not_exists=False, **commit_options(purpose)
    )


def commit_options(purpose: str) -> dict[str, Any]:
    """Return delta-rs's options for a commit with a purpose and without hooks."""
    from deltalake.transaction import CommitProperties, PostCommitHookProperties

    return {
        "commit_properties": CommitProperties(custom_metadata={MAINTAINS: purpose}),
        "post_commithook_properties": PostCommitHookProperties(
            create_checkpoint=False, cleanup_expired_logs=False
        ),
    }


def extend_table(tables: LakeTables, table: Table, schema: pa.Schema) -> None:
    """Add the columns, and the fields of structs, that a table lacks; durable on return.

    Args:
        tables: the lake.
        table: the table as it is.
        schema: the columns that it needs; types of existing columns are not changed.
    """
    from deltalake import Schema

    def lacks(state: TableState) -> bool:
        return _lacks(pa.struct([*columns_of(state.schema_text)[0]]), pa.struct([*schema]))

    if lacks(tables.unchecked_state(table)):
        alter(
            tables,
            table,
            "extend",
            lambda handle: handle.alter.add_columns(
                Schema.from_arrow(schema).fields, **commit_options("extend")
            ),
            check=partial(refuse_newer, tables.lake_path),
            is_done=lambda state: not lacks(state),
        )


def _lacks(there: pa.DataType, requested: pa.DataType) -> bool:
    """Return whether a type lacks a field of a struct, at any depth."""
    if pa.types.is_struct(requested) and pa.types.is_struct(there):
        return any(
            there.get_field_index(field.name) < 0
            or _lacks(there.field(field.name).type, field.type)
            for field in requested
        )
    if pa.types.is_list(requested) and pa.types.is_list(there):
        return _lacks(there.value_type, requested.value_type)
    if pa.types.is_map(requested) and pa.types.is_map(there):
        return _lacks(there.item_type, requested.item_type)
    return False
