"""Tries a commit on the newest version of a table, again if another driver was faster."""

import time
from collections.abc import Callable, Iterator, Sequence

from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import CommitUnknownError
from seglake.lake.table_view import TableView, view_of
from seglake.lake.tables import Table


class CommitTries:
    """Versions of a table on which to try a commit, until one succeeds.

    Attributes:
        failure: why the last try failed, as text; the caller sets it. A try without a failure, "",
            is the last one.
    """

    def __init__(
        self,
        tables: LakeTables,
        table: Callable[[], Table],
        pauses_s: Sequence[float] | None = None,
    ) -> None:
        """Store what is tried.

        Args:
            tables: the lake.
            table: returns the table as it is now.
            pauses_s: pause before each try, in seconds; None for those of the storage.
        """
        self._tables = tables
        self._table = table
        self._pauses_s = tables.storage.pauses_s(tables.lake_path) if pauses_s is None else pauses_s
        self.failure: str | None = None

    def __iter__(self) -> Iterator[TableView]:
        """Yield the newest version before each try.

        Raises:
            CommitUnknownError: all tries failed, but the commit may have happened.
        """
        for pause_s in self._pauses_s:
            time.sleep(pause_s)
            yield view_of(self._tables, self._table())
            if self.failure == "":
                return
        count, reason = len(self._pauses_s), self.failure or ""
        raise CommitUnknownError(table=self._table().name, attempt_count=count, reason=reason)
