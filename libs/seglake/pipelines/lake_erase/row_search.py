"""Searches `records`, tables with its columns, and damaged batches for the requested records."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from seglake.ingest_steps.run_context import RunContext
from seglake.lake.snapshots import StoredFile
from seglake.lake.tables import QUARANTINE, Table
from seglake.pipelines.lake_erase.condition import ConditionFailedError
from seglake.pipelines.lake_erase.found_rows import PLACE_SCHEMA, FoundRows, Requested, find_rows
from seglake.pipelines.lake_erase.quarantined_bytes import find_bytes


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
        there, run = [*files], self.run
        new = [file for file in there if file.path not in self.found]
        find = partial(find_rows, run.storage, table, self.requested)
        purpose = f"searching {table.name}"
        if table == QUARANTINE:
            most_bytes = run.settings.limits.max_decompressed_batch_bytes
            find = partial(find_bytes, run.storage, self.requested, most_bytes)
            purpose = "searching damaged batches"
        found = run.of_files(partial(_with_failure, find), new, purpose)
        for failure in filter(None, (each.failure for each in found.values())):
            raise ConditionFailedError(failure)
        self.found |= found
        return {file.path: self.found[file.path] for file in there}


def _with_failure(find: Callable[[StoredFile], FoundRows], file: StoredFile) -> FoundRows:
    """Return the rows of a file that are to be erased, or why the condition fails on a record."""
    try:
        return find(file)
    except ConditionFailedError as error:  # as a value, since Spark would make a text of it
        nothing = np.zeros(0, np.int64), PLACE_SCHEMA.empty_table()
        return FoundRows(*nothing, failure=str(error))
