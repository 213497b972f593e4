"""Creates a lake's tables, and upgrades those of an earlier version. Effect, on the driver only.

An upgrade adds tables and columns, which may stay empty: no row changes. Tables come first, then
the mark that earlier versions refuse, then columns. The next run completes an interrupted upgrade.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pyarrow as pa

from seglake.lake.app_versions import app_id
from seglake.lake.delta_tables import LOG_FOLDER, OWN_FOLDER, Handle, LakeTables, state_of
from seglake.lake.errors import NotALakeError
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.lake_folder import holds_conversion, opening
from seglake.lake.lake_format import FORMAT, added_columns, format_of, marks, refuse_newer
from seglake.lake.log_durability import sync_log
from seglake.lake.table_log import TableState
from seglake.lake.tables import CHECKPOINTS, GAPS, TABLES, Table
from seglake.storage.errors import LakeFolderError, PlaceError


def create_missing(tables: LakeTables, *, is_single_writer: bool = False) -> list[str]:
    """Create missing tables, and upgrade and check existing ones.

    Two drivers may do this at once: both succeed.

    Args:
        tables: the lake.
        is_single_writer: the operator guarantees that only one driver writes at a time, so the
            store need not.

    Returns:
        The additions of an upgrade to a lake of an earlier version, in words.

    Raises:
        LakeFolderError: the place is a file, or has other content, or has lost a table, or a later
            version made it.
        LakeRefusedError: the storage denies access.
        UnsafeStoreError: the store could lose commits.
        SchemaError: the columns of a table are not those of this library.
        TableRefusedError: a table uses features that this library does not write.
    """
    tables.check_path()
    with opening(tables.lake_path):
        return _create_missing(tables, is_single_writer=is_single_writer)


def upgrade_notes(added: Sequence[str]) -> list[str]:
    """Return the notes on an upgrade: empty if nothing was added."""
    if not added:
        return []
    return [f"the lake was upgraded: {', '.join(added)}; earlier versions of seglake refuse it"]


def pending_upgrade(tables: LakeTables) -> list[str]:
    """Return the additions of an upgrade, in words; write nothing.

    Raises:
        NewerLakeError: a later version made the lake.
    """
    with opening(tables.lake_path):
        present = _present(tables)
    lake_format = _format_of(tables, present)
    new = [f"table {t.name}" for t in TABLES if t.name not in present and t.since > lake_format]
    for table in TABLES:
        if table.name in present:
            new += _columns(table, _lacking(table, present[table.name]))
    return new


def _create_missing(tables: LakeTables, *, is_single_writer: bool) -> list[str]:
    """Create, upgrade and check; see `create_missing`."""
    tables.forget_handles()  # existing tables are opened and checked again
    present = _present(tables)
    lake_format = _format_of(tables, present)
    has_commits = any(state.version > 0 for state in present.values())
    # Check after reading the versions: all tables are created before the first commit to any.
    missing = [t for t in TABLES if t.name not in present and not tables.has(t)]
    lost = [table.name for table in missing if table.since <= lake_format and not table.is_apart]
    if lost and has_commits:
        reason = f"it has lost the table {', '.join(lost)}"
        raise LakeFolderError(path=tables.lake_path, reason=reason)
    if missing:
        _check_folder(tables, missing)
    if not is_single_writer:
        tables.require_safe_commits()
    with ThreadPoolExecutor(len(TABLES)) as pool:  # on a remote store each takes a while
        create = partial(_create, tables, present=present)
        list(pool.map(create, missing))
    added = [f"table {table.name}" for table in missing if table.since > lake_format]
    for table in TABLES:
        state = present.get(table.name)
        if state is not None and (not _is_marked(state) or _lacking(table, state)):
            added += _columns(table, _lacking(table, state))
            _upgrade(tables, table)
            state = None
        tables.check(table, state or tables.unchecked_state(table))
    return added


def _present(tables: LakeTables) -> dict[str, TableState]:
    """Return the unchecked state of each existing table, by its name."""
    # Read a small one alone first: it imports the modules that all need. Threads that import
    # modules which import each other can fail.
    gaps = _found(tables, GAPS)
    others = [table for table in TABLES if table is not GAPS]
    with ThreadPoolExecutor(len(others)) as pool:  # a remote or long log takes a while
        states = dict(zip(others, pool.map(partial(_found, tables), others), strict=True))
    states[GAPS] = gaps
    return {table.name: state for table in TABLES if (state := states[table]) is not None}


def _found(tables: LakeTables, table: Table) -> TableState | None:
    """Return the unchecked state of a table, None if it does not exist."""
    try:
        return tables.unchecked_state(table)
    except NotALakeError:
        return None


def _format_of(tables: LakeTables, present: Mapping[str, TableState]) -> int:
    """Return the oldest format of the tables; raise NewerLakeError for a later one."""
    for state in present.values():
        refuse_newer(tables.lake_path, state.settings)
    return min((format_of(state.settings) for state in present.values()), default=FORMAT)


def _upgrade(tables: LakeTables, table: Table) -> None:
    """Add the marks and the columns that a table of an earlier version lacks."""
    from deltalake import Schema

    def alter(handle: Handle) -> None:
        state = state_of(handle)
        fields = [table.schema.field(name) for name in _lacking(table, state)]
        if not _is_marked(state):
            _set_properties(handle, marks(), "upgrade")
        if fields:
            columns = Schema.from_arrow(pa.schema(fields)).fields
            handle.alter.add_columns(columns, **_commit_options("upgrade"))

    _alter(
        tables,
        table,
        "upgrade",
        alter,
        check=lambda settings: refuse_newer(tables.lake_path, settings),
        is_done=lambda state: _is_marked(state) and not _lacking(table, state),
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
    """Set a property of a table, which changes no row; durable on return.

    If two drivers set properties at once, the second commits on top of the first.

    Args:
        tables: the lake.
        table: the table.
        name: name of the property.
        value: its new value.
        purpose: purpose recorded in the commit.
        check: raises if the value conflicts with the table's other properties.

    Raises:
        PlaceError: all attempts to commit failed.
    """
    _alter(
        tables,
        table,
        "set a property of",
        lambda handle: _set_properties(handle, {name: value}, purpose),
        check=check,
        is_done=lambda state: state.settings.get(name) == value,
    )


def _alter(
    tables: LakeTables,
    table: Table,
    action: str,
    alter: Callable[[Handle], None],
    *,
    check: Callable[[Mapping[str, str]], None],
    is_done: Callable[[TableState], bool],
) -> None:
    """Alter a table until its newest version is as wanted, by any driver; durable on return.

    Another driver may alter it at the same time: a refused commit is tried again.

    Args:
        tables: the lake.
        table: the table.
        action: verb for messages.
        alter: commits the change with a handle of the newest version.
        check: raises if the properties of the newest version forbid it.
        is_done: whether a version is as wanted.

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
                alter(handle)
        except PlaceError as error:
            refused = error
        with tables.named("open the table", table):
            handle.update_incremental()
        state = state_of(handle)
        if is_done(state):
            sync_log(tables, table, state.version)
            return
    raise refused


def _set_properties(handle: Handle, properties: dict[str, str], purpose: str) -> None:
    """Commit properties of a table; the purpose goes into the commit's info."""
    handle.alter.set_table_properties(
        properties, raise_if_not_exists=False, **_commit_options(purpose)
    )


def _commit_options(purpose: str) -> dict[str, Any]:
    """Return the options of a commit that alters a table: its purpose, and no hooks."""
    from deltalake.transaction import CommitProperties, PostCommitHookProperties

    return {
        "commit_properties": CommitProperties(custom_metadata={MAINTAINS: purpose}),
        "post_commithook_properties": PostCommitHookProperties(
            create_checkpoint=False, cleanup_expired_logs=False
        ),
    }


def _lacking(table: Table, state: TableState) -> list[str]:
    """Return the columns that a table's version lacks."""
    return added_columns(table, state.column_names)


def _columns(table: Table, names: Iterable[str]) -> list[str]:
    """Return columns of a table in words."""
    return [f"column {name} of {table.name}" for name in names]


def _is_marked(state: TableState) -> bool:
    """Return whether a table has the mark of this version's format."""
    return format_of(state.settings) == FORMAT


def _check_folder(tables: LakeTables, missing: Sequence[Table]) -> None:
    """Refuse to create tables in a place that is neither an empty folder nor a new lake."""
    strange = [e.name for e in tables.entries() if e.name not in {t.name for t in TABLES}]
    if strange and len(missing) == len(TABLES):
        is_conversion = holds_conversion(tables.storage, tables.lake_path)
        reason = "a conversion to Parquet" if is_conversion else strange[0]
        raise LakeFolderError(path=tables.lake_path, reason=f"it holds {reason}")
    for table in missing:
        entries = tables.entries(table.name)
        left = [e.name for e in entries if e.name not in (LOG_FOLDER, OWN_FOLDER)]
        if left:
            reason = f"{table.name} holds {left[0]} and is not a table"
            raise LakeFolderError(path=tables.lake_path, reason=reason)


def _begun(tables: LakeTables, table: Table, present: Mapping[str, TableState]) -> dict[str, int]:
    """Return the generations, by app, of a table's topics that a lake ingested before it had it.

    The table begins with them, as if it had been in those commits and got no row: see
    `app_versions`.
    """
    checkpoints = present.get(CHECKPOINTS.name)
    if checkpoints is None or not table.topics:
        return {}
    sources = tables.source_ids(tables.unchecked(CHECKPOINTS))  # as an earlier version made it
    apps = [app_id(source, topic) for source in sources for topic in table.topics]
    return {app: number for app in apps if (number := checkpoints.generation(app))}


def _create(tables: LakeTables, table: Table, *, present: Mapping[str, TableState]) -> None:
    """Create a table, durable on return, unless another driver does so at the same time."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import CommitProperties, Transaction

    begun = _begun(tables, table, present)
    configuration: dict[str, str | None] = {
        "delta.appendOnly": "true",
        "delta.dataSkippingStatsColumns": ",".join(table.statistics_columns),
        **marks(),
    }
    try:
        DeltaTable.create(
            tables.path(table),
            schema=table.schema,
            mode="error",
            partition_by=list(table.partition_by),
            configuration=configuration,
            raise_if_key_not_exists=False,  # the marks are not Delta's keys
            # A retry would add a second definition to a table that another driver just created.
            commit_properties=CommitProperties(
                max_commit_retries=0,
                app_transactions=[Transaction(app, number) for app, number in begun.items()],
            ),
            storage_options=tables.options,
        )
    except (DeltaError, OSError) as error:
        if not tables.has(table):
            raise tables.failure("create the table", table, error) from None
    tables.storage.sync([tables.log_entry_path(table, 0)])
