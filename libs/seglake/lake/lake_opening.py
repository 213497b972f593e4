"""Opens an existing lake for a run that commits to it."""

from seglake.lake.delta_tables import LakeTables
from seglake.lake.lake_folder import require_writable
from seglake.storage.storage import Storage


def opened_to_commit(
    lake: str, storage: Storage, *, is_single_writer: bool, dry_run: bool = False
) -> LakeTables:
    """Open an existing lake; unless it is a dry run, require that commits are possible and safe.

    Args:
        lake: the lake's path or URI.
        storage: the storage of the lake.
        is_single_writer: whether the operator guarantees that only one driver writes at a time;
            then the store is not checked.
        dry_run: whether nothing will be committed.

    Raises:
        LakeFolderError: there is no lake, or its storage denies access.
        UnsafeStoreError: the storage cannot commit safely.
    """
    tables = LakeTables(storage.locate(lake), storage)
    tables.require()
    if not dry_run:
        require_writable(storage, tables.lake_path, tables.work_folder)
        if not is_single_writer:
            tables.require_safe_commits()
    return tables
