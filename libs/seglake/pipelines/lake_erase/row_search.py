"""Searches tables with the columns of `records` for the requested records."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from seglake.ingest_steps.run_context import RunContext
from seglake.lake.snapshots import StoredFile
from seglake.lake.tables import Table
from seglake.pipelines.lake_erase.condition import ConditionFailedError
from seglake.pipelines.lake_erase.found_rows import FindTask, FoundRows, Requested, find
from seglake.pipelines.lake_erase.quarantined_bytes import FoundBytes


def require_found(results: Iterable[FoundRows | FoundBytes]) -> None:
    """Raise ConditionFailedError if the condition failed in one of the searched files."""
    for result in results:
        if result.failure:
            raise ConditionFailedError(result.failure)


@dataclass(slots=True)
class RowSearch:
    """Search of data files for the requested records; no file is searched twice.

    Attributes:
        found: rows of each file that was searched, by path.
    """

    requested: Requested
    run: RunContext
    found: dict[str, FoundRows] = field(default_factory=dict)

    def of(self, table: Table, files: Iterable[StoredFile]) -> dict[str, FoundRows]:
        """Return the requested rows of each file, by path.

        Raises:
            ConditionFailedError: the condition cannot be evaluated on a record.
        """
        there = [*files]
        new = [file for file in there if file.path not in self.found]
        tasks = [
            FindTask(
                storage=self.run.storage,
                table=table,
                topic=file.topic or "",
                path=file.path,
                requested=self.requested,
            )
            for file in new
        ]
        results = self.run.reporter.run_tasks(
            self.run.engine,
            find,
            tasks,
            sizes=[file.size_bytes for file in new],
            text=f"searching {table.name}",
        )
        require_found(results)
        self.found |= {file.path: rows for file, rows in zip(new, results, strict=True)}
        return {file.path: self.found[file.path] for file in there}
