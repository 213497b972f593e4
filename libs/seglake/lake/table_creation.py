"""Creates a lake's tables, and upgrades lakes of earlier versions. Runs on the driver only.

An upgrade adds tables and columns without changing rows: first the tables, then the mark that makes
earlier versions refuse the lake, then the columns. The next run completes an interrupted upgrade.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow as pa

from seglake.lake.app_versions import app_id
from seglake.lake.delta_tables import LOG_FOLDER, OWN_FOLDER, Handle, LakeTables, state_of
from seglake.lake.errors import NotALakeError
from seglake.lake.lake_folder import holds_conversion, opening
from seglake.lake.lake_format import FORMAT, added_columns, format_of, marks, refuse_newer
from seglake.lake.table_changes import APPEND_ONLY, alter, commit_options, set_properties
from seglake.lake.table_log import TableState
from seglake.lake.tables import CHECKPOINTS, GAPS, TABLES, Table
from seglake.storage.errors import LakeFolderError
from seglake.storage.many_requests import each


def create_missing(tables: LakeTables, *, is_single_writer: bool = False) -> list[str]:
    """Create missing tables, and upgrade and check existing tables.

    If two drivers do this at the same time, both succeed.

    Args:
        tables: the lake.
        is_single_writer: whether the operator guarantees that only one driver writes at a time;
            then the store is not checked.

    Returns:
        The tables and columns that an upgrade has added, as text; empty without an upgrade.

    Raises:
        LakeFolderError: the path is a file, the folder has other content, a table is missing, or a
            later version made the lake.
        LakeRefusedError: the storage denies access.
        UnsafeStoreError: the store could lose commits.
        SchemaError: the columns of a table differ from this version's.
        TableRefusedError: a table uses features that seglake does not support.
    """
    tables.check_path()
    with opening(tables.lake_path):
        return _create_missing(tables, is_single_writer=is_single_writer)


def upgrade_notes(added: Sequence[str]) -> list[str]:
    """Return a note for the run's summary on an upgrade; empty if nothing was added."""
    if not added:
        return []
    return [f"the lake was upgraded: {', '.join(added)}; earlier versions of seglake refuse it"]


def pending_upgrade(tables: LakeTables) -> list[str]:
    """Return the tables and columns that an upgrade would add, as text.

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
    """Create, upgrade and check all tables; see `create_missing`."""
    tables.forget_handles()  # existing tables are then opened and checked again
    present = _present(tables)
    lake_format = _format_of(tables, present)
    has_commits = any(state.version > 0 for state in present.values())
    # Check again: another driver may have created tables meanwhile. No table gets a commit before
    # all tables exist.
    missing = [t for t in TABLES if t.name not in present and not tables.has(t)]
    lost = [table.name for table in missing if table.since <= lake_format and not table.is_apart]
    if lost and has_commits:
        reason = f"it has lost the table {', '.join(lost)}"
        raise LakeFolderError(path=tables.lake_path, reason=reason)
    if missing:
        _check_folder(tables, missing)
    if not is_single_writer:
        tables.require_safe_commits()
    # Also on a local disk, which syncs several tables in half the time.
    with ThreadPoolExecutor(len(TABLES)) as pool:
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
    # Read one small table before starting threads, so that all modules are imported: concurrent
    # imports of modules that import each other can fail.
    states = {GAPS: _found(tables, GAPS)}
    others = [table for table in TABLES if table is not GAPS]
    found = each(partial(_found, tables), others, storage=tables.storage, path=tables.lake_path)
    states.update(zip(others, found, strict=True))
    return {table.name: state for table in TABLES if (state := states[table]) is not None}


def _found(tables: LakeTables, table: Table) -> TableState | None:
    """Return the unchecked state of a table; None if it does not exist."""
    try:
        return tables.unchecked_state(table)
    except NotALakeError:
        return None


def _format_of(tables: LakeTables, present: Mapping[str, TableState]) -> int:
    """Return the lowest format of the tables; raise NewerLakeError if one is too new."""
    for state in present.values():
        refuse_newer(tables.lake_path, state.settings)
    return min((format_of(state.settings) for state in present.values()), default=FORMAT)


def _upgrade(tables: LakeTables, table: Table) -> None:
    """Add the missing format mark and columns to a table."""
    from deltalake import Schema

    def add(handle: Handle) -> None:
        state = state_of(handle)
        fields = [table.schema.field(name) for name in _lacking(table, state)]
        if not _is_marked(state):
            set_properties(handle, marks(), "upgrade")
        if fields:
            columns = Schema.from_arrow(pa.schema(fields)).fields
            handle.alter.add_columns(columns, **commit_options("upgrade"))

    alter(
        tables,
        table,
        "upgrade",
        add,
        check=lambda settings: refuse_newer(tables.lake_path, settings),
        is_done=lambda state: _is_marked(state) and not _lacking(table, state),
    )


def _lacking(table: Table, state: TableState) -> list[str]:
    """Return the columns that an upgrade would add to a table."""
    return added_columns(table, state.column_names)


def _columns(table: Table, names: Iterable[str]) -> list[str]:
    """Return the names and types of columns as text, for messages."""
    return [f"column {name} of {table.name}" for name in names]


def _is_marked(state: TableState) -> bool:
    """Return whether a table has this version's format."""
    return format_of(state.settings) == FORMAT


def _check_folder(tables: LakeTables, missing: Sequence[Table]) -> None:
    """Require that the folder is empty or a new lake before tables are created in it."""
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
    """Return the generations with which a new table must start, by application id.

    If topics of the table were ingested before the table existed, the table must begin with the
    topics' generations, as if earlier commits had added no rows to it: see `app_versions`.
    """
    checkpoints = present.get(CHECKPOINTS.name)
    if checkpoints is None or not table.topics:
        return {}
    sources = tables.source_ids(tables.unchecked(CHECKPOINTS))
    apps = [app_id(source, topic) for source in sources for topic in table.topics]
    return {app: number for app in apps if (number := checkpoints.generation(app))}


def create_table(tables: LakeTables, table: Table, properties: Mapping[str, str]) -> None:
    """Create a table outside ingests' commits, with more properties; durable on return.

    If another driver has just created it, nothing is changed.
    """
    _create(tables, table, present={}, properties=properties)


def _create(
    tables: LakeTables,
    table: Table,
    *,
    present: Mapping[str, TableState],
    properties: Mapping[str, str] | None = None,
) -> None:
    """Create a table, unless another driver has just done so; durable on return."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import CommitProperties, Transaction

    class Created(DeltaTable):
        """Table that delta-rs creates but does not open, which would read it again."""

        def __init__(self, *_: object, **__: object) -> None:
            pass

    begun = _begun(tables, table, present)
    configuration: dict[str, str | None] = {
        APPEND_ONLY: "true",
        "delta.dataSkippingStatsColumns": ",".join(table.statistics_columns),
        **marks(),
        **(properties or {}),
    }
    # On HDFS, delta-rs would give new folders permissions that the configured umask forbids.
    tables.storage.make_folder(tables.storage.join(tables.path(table), LOG_FOLDER))
    try:
        Created.create(
            tables.path(table),
            schema=table.schema,
            mode="error",
            partition_by=list(table.partition_by),
            configuration=configuration,
            raise_if_key_not_exists=False,  # seglake's property names are not Delta's
            # A retry could create the table again after another driver has created it.
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
