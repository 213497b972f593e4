"""Deletes data files that no version of a table needs any more, and those of dead runs. Effect."""

from typing import TYPE_CHECKING

from seglake.lake.delta_tables import LakeTables
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.tables import Table

if TYPE_CHECKING:
    from seglake.lake.delta_tables import DeltaTable

# Delta's own default. Younger files may be those of a run at work.
_LEAST_HOURS = 7 * 24


def vacuumed(
    tables: LakeTables, table: Table, handle: "DeltaTable", *, run_id: str, dry_run: bool
) -> int:
    """Delete them, and return how many; folders whose names begin with _ are left alone.

    A file goes seven days after it was replaced, or, where no commit has named it, was written;
    later if the table's `delta.deletedFileRetentionDuration` says so.

    Args:
        run_id: stands in the commits that say so.
    """
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import CommitProperties

    hours: int | None = _LEAST_HOURS
    with tables.named("vacuum", table):
        try:
            found = handle.vacuum(retention_hours=hours, dry_run=True, full=True)
        except DeltaError:  # the table's own is longer; whatever else it is comes again
            hours = None
            found = handle.vacuum(retention_hours=hours, dry_run=True, full=True)
        if found and not dry_run:
            said = {"run_id": run_id, MAINTAINS: "vacuum"}
            handle.vacuum(
                retention_hours=hours,
                dry_run=False,
                full=True,
                commit_properties=CommitProperties(custom_metadata=said),
            )
    return len(found)
