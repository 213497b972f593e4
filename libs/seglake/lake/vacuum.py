"""Deletes data files that no version of a table needs, and scratch files of dead runs. Effect."""

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.lake_folder import entries_of, files_of
from seglake.lake.tables import Table
from seglake.storage.many_requests import each
from seglake.storage.storage import Storage

# Delta's own default. Younger files may belong to an active run.
_LEAST_HOURS = 7 * 24
_HOUR_MS = 3_600_000


class DeletedFiles(NamedTuple):
    """Number and bytes of files that were deleted, or would be."""

    file_count: int
    size_bytes: int


def vacuumed(
    tables: LakeTables, table: Table, handle: Handle, *, run_id: str, dry_run: bool
) -> DeletedFiles:
    """Delete files that no version of a table needs; return their number and bytes.

    A file is deleted seven days after it was replaced or, if no commit has named it, after it was
    written; later if the table's `delta.deletedFileRetentionDuration` says so. Folders whose names
    begin with _ are left alone.

    Args:
        tables: the lake.
        table: the table.
        handle: handle at its newest version.
        run_id: id of the run, for the vacuum's commits.
        dry_run: only count the files.
    """
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import CommitProperties

    hours: int | None = _LEAST_HOURS
    with tables.named("vacuum", table):
        try:
            found = handle.vacuum(retention_hours=hours, dry_run=True, full=True)
        except DeltaError:  # the table's own retention is longer; any other error will repeat
            hours = None
            found = handle.vacuum(retention_hours=hours, dry_run=True, full=True)
        size_bytes = _size_bytes(tables.storage, tables.path(table), found)
        if found and not dry_run:
            commit_info = {"run_id": run_id, MAINTAINS: "vacuum"}
            handle.vacuum(
                retention_hours=hours,
                dry_run=False,
                full=True,
                commit_properties=CommitProperties(custom_metadata=commit_info),
            )
    return DeletedFiles(len(found), size_bytes)


def scratch_deleted(tables: LakeTables, now_ms: int, *, dry_run: bool) -> DeletedFiles:
    """Delete the scratch files of replays and probes that died at least seven days ago."""
    latest_ms = now_ms - _LEAST_HOURS * _HOUR_MS
    count = size_bytes = 0
    for folder in tables.scratch_folders:
        for entry in entries_of(tables.storage, folder):
            files = files_of(tables.storage, entry)
            if max(found.modified_at_ms for found in (entry, *files)) > latest_ms:
                continue
            count += len(files)
            size_bytes += sum(file.size_bytes for file in files)
            if not dry_run and entry.is_folder:
                tables.storage.delete_folder(entry.path)
            elif not dry_run:
                tables.storage.delete(entry.path)
    return DeletedFiles(count, size_bytes)


def _size_bytes(storage: Storage, folder: str, places: Iterable[str]) -> int:
    """Return the bytes of files below a folder; a vanished file counts as 0."""
    by_folder: dict[str, set[str]] = defaultdict(set)
    for place in places:
        above, _, name = place.rpartition("/")
        by_folder[above].add(name)
    folders = [storage.join(folder, above) if above else folder for above in by_folder]
    listings = each(partial(entries_of, storage), folders, storage=storage, path=folder)
    return sum(
        entry.size_bytes
        for listing, names in zip(listings, by_folder.values(), strict=True)
        for entry in listing
        if entry.name in names
    )
