"""Deletes unreferenced data files, and scratch files of dead runs."""

import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.lake_folder import entries_of, files_of
from seglake.lake.tables import Table
from seglake.storage.many_requests import each
from seglake.storage.storage import FileInfo, Storage

# Delta's default age; newer files may belong to an active run.
_LEAST_HOURS = 7 * 24
_HOUR_MS = 3_600_000
_RETENTION = "delta.deletedFileRetentionDuration"
_UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week")
_DURATIONS = re.compile(rf"(\d+)\s+({'|'.join(_UNITS)})s?\b")


class DeletedFiles(NamedTuple):
    """Number and total bytes of deleted files; in a dry run, of files that would be deleted."""

    file_count: int
    size_bytes: int


def kept_for(tables: LakeTables, table: Table) -> timedelta:
    """Return how long after its replacement `vacuumed` keeps a file: at least seven days."""
    text = tables.state(table).settings.get(_RETENTION, "").lower()
    found = (timedelta(**{f"{unit}s": int(count)}) for count, unit in _DURATIONS.findall(text))
    return max(timedelta(hours=_LEAST_HOURS), sum(found, timedelta()))


def vacuumed(
    tables: LakeTables, table: Table, handle: Handle, *, run_id: str, dry_run: bool
) -> DeletedFiles:
    """Delete old files that a table no longer references; return their number and bytes.

    A file is deleted seven days after it was replaced. A file that was never committed is deleted
    seven days after it was written. If the table's `delta.deletedFileRetentionDuration` is longer
    than seven days, it applies instead. Folders whose names begin with `_` are skipped.

    Args:
        tables: the lake.
        table: the table.
        handle: handle at the table's newest version.
        run_id: id of the run, for the infos of the vacuum's commits.
        dry_run: whether only to count the files.
    """
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import CommitProperties

    hours: int | None = _LEAST_HOURS
    with tables.named("vacuum", table):
        try:
            found = handle.vacuum(retention_hours=hours, dry_run=True, full=True)
        # The table's own retention may be longer: use it. Any other error is raised again below.
        except DeltaError:
            hours = None
            found = handle.vacuum(retention_hours=hours, dry_run=True, full=True)
        size_bytes = sum(f.size_bytes for f in _existing(tables.storage, tables.path(table), found))
        if found and not dry_run:
            commit_info = {"run_id": run_id, MAINTAINS: "vacuum"}
            handle.vacuum(
                retention_hours=hours,
                dry_run=False,
                full=True,
                commit_properties=CommitProperties(custom_metadata=commit_info),
            )
    return DeletedFiles(len(found), size_bytes)


def removed_files(tables: LakeTables, table: Table, handle: Handle) -> list[FileInfo]:
    """Return the files that commits of a table have removed and that still exist.

    Args:
        tables: the lake.
        table: the table.
        handle: handle at the table's newest version.
    """
    with tables.named("vacuum", table):
        found = handle.vacuum(
            retention_hours=0, dry_run=True, full=False, enforce_retention_duration=False
        )
    return _existing(tables.storage, tables.path(table), found)


def purge_removed(tables: LakeTables, table: Table, handle: Handle, *, run_id: str) -> None:
    """Delete all files that commits of a table have removed, however new.

    Readers of earlier versions fail. Files that were never committed are kept: they may belong to
    an active run.

    Args:
        tables: the lake.
        table: the table.
        handle: handle at the table's newest version.
        run_id: id of the run, for the infos of the vacuum's commits.

    Raises:
        PlaceError: a file could not be deleted; others may have been.
    """
    from deltalake.transaction import CommitProperties

    with tables.named("vacuum", table):
        handle.vacuum(
            retention_hours=0,
            dry_run=False,
            full=False,
            enforce_retention_duration=False,
            commit_properties=CommitProperties(
                custom_metadata={"run_id": run_id, MAINTAINS: "vacuum"}
            ),
        )


def scratch_deleted(
    tables: LakeTables, now_ms: int, *, least_hours: int = _LEAST_HOURS, dry_run: bool
) -> DeletedFiles:
    """Delete old scratch files that dead replays and probes left; return number and bytes.

    Args:
        tables: the lake.
        now_ms: time from which the age counts, in ms since 1970.
        least_hours: least age of the files that are deleted.
        dry_run: whether only to count the files.
    """
    latest_ms = now_ms - least_hours * _HOUR_MS
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


def _existing(storage: Storage, folder: str, places: Iterable[str]) -> list[FileInfo]:
    """Return the files of a table at these places, without files that have vanished."""
    by_folder: dict[str, set[str]] = defaultdict(set)
    for place in places:
        above, _, name = place.rpartition("/")
        by_folder[above].add(name)
    folders = [storage.join(folder, above) if above else folder for above in by_folder]
    listings = each(partial(entries_of, storage), folders, storage=storage, path=folder)
    return [
        entry
        for listing, names in zip(listings, by_folder.values(), strict=True)
        for entry in listing
        if entry.name in names
    ]
