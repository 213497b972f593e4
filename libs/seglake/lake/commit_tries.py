"""Tries a commit on the newest version of a table, again if another driver was faster."""

import time
from collections.abc import Callable, Iterator, Sequence

from seglake.lake.compaction import TableView, view_of
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import CommitUnknownError
from seglake.lake.tables import Table


class CommitTries:
    """Versions of a table on which to try a commit, until one succeeds.

    Attributes:
        failure: why the last try failed, as text; the caller sets it.
    """

    def __init__(
        self, tables: LakeTables, table: Callable[[], Table], pauses_s: Sequence[float]
    ) -> None:
        """Store what is tried.

        Args:
            tables: the lake.
            table: returns the table as it is now.
            pauses_s: pause before each try, in seconds.
        """
        self._tables = tables
        self._table = table
        self._pauses_s = pauses_s
        self.failure = ""

    def __iter__(self) -> Iterator[TableView]:
        """Yield the newest version before each try.

        Raises:
            CommitUnknownError: all tries failed, but the commit may have happened.
        """
        for pause_s in self._pauses_s:
            time.sleep(pause_s)
            yield view_of(self._tables, self._table())
        raise CommitUnknownError(
            table=self._table().name, attempt_count=len(self._pauses_s), reason=self.failure
        )
