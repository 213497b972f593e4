"""Deletes data files that no version of a table needs any more, and those of dead runs. Effect."""

from typing import TYPE_CHECKING

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import Table

if TYPE_CHECKING:
    from seglake.lake.delta_tables import DeltaTable


def vacuumed(
    tables: LakeTables,
    table: Table,
    handle: "DeltaTable",
    *,
    retention_days: int,
    run_id: str,
    dry_run: bool,
) -> int:
    """Delete them, and return how many; folders whose names begin with _ are left alone.

    Args:
        retention_days: a file goes so long after it was replaced; one that no commit has named, so
            long after it was written. Delta refuses less than the table's own setting, 7 days.
        run_id: stands in the commits that say so.
    """
    from deltalake.transaction import CommitProperties

    with tables.named("vacuum", table):
        found = handle.vacuum(retention_hours=24 * retention_days, dry_run=True, full=True)
        if found and not dry_run:
            handle.vacuum(
                retention_hours=24 * retention_days,
                dry_run=False,
                full=True,
                commit_properties=CommitProperties(custom_metadata={"run_id": run_id}),
            )
    return len(found)
