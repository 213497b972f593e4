"""Port through which the commit protocol reads and writes a lake. Pure.

The protocol consists of generators. Before each call of the port that reads or writes the lake they
yield the seconds to wait: between two such calls other drivers may do anything, and this one may
die. The driver of the generators decides what happens there; `delta_commit` drives them against
Delta tables.
"""

from collections.abc import Generator, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from seglake.lake.parquet_files import DataFile
from seglake.lake.redo_file import Redo
from seglake.lake.tables import Table

_T = TypeVar("_T")

Steps: TypeAlias = Generator[float, None, _T]
"""Generator that yields the seconds to wait before each call of the port; returns the outcome."""

NOW = 0.0


class Generations(Protocol):
    """Generations in one version of a table."""

    def generation(self, app: str) -> int:
        """Return the last `txn` version of an app in the Delta log, 0 for none."""


class TableView(Generations, Protocol):
    """One version of a table, to commit to; it never advances."""

    def file_names(self, topics: Sequence[str]) -> set[str]:
        """Return the names, without folders, of the topics' data files."""


class CommitPort(Protocol):
    """A lake as the protocol sees it. Calls raise the errors of the lake's storage."""

    @property
    def pauses_s(self) -> Sequence[float]:
        """Return the seconds to wait before each try of a commit."""

    @property
    def redo_folder(self) -> str:
        """Return the path of the redo files' folder, for messages."""

    def new_commit_id(self) -> str:
        """Return an id that no other commit has."""

    def newest(self, table: Table) -> Generations:
        """Return the newest version's generations, valid until the table's next call."""

    def opened(self, table: Table) -> TableView:
        """Return the newest version, to commit to."""

    def commit_ids(self, table: Table, after: TableView | None = None) -> set[str | None]:
        """Return the commit ids that the log still has; with `after`, only those after it."""

    def require_own_rows(self, topics: Iterable[str]) -> None:
        """Require that no other tool has changed rows of the tables that topics are committed to.

        A commit of seglake on top of such a change would hide it from later checks.

        Raises:
            ForeignChangeError: a tool has changed rows; nothing was touched.
        """

    def commit(self, table: Table, view: TableView, redo: Redo, topics: Sequence[str]) -> str:
        """Add the topics' files of the table, and their generations, in one commit.

        It fails if a commit after the view has moved one of these generations. The log is durable
        on return.

        Returns:
            The failure in words, empty if there is none; the commit may yet have happened.
        """

    def make_durable(self, table: Table) -> None:
        """Sync the table's log, so that a power cut undoes no entry of any driver."""

    def redo_files(self) -> list[Redo]:
        """Return all redo files of the lake."""

    def write_redo(self, redo: Redo) -> None:
        """Write a redo file, durable on return."""

    def delete_redo(self, redo: Redo) -> None:
        """Delete a redo file, if it exists."""

    def require_files(self, files: Iterable[DataFile]) -> None:
        """Require that data files exist with their sizes, and make them durable.

        Raises:
            DataFileError: a file is missing or has another size.
        """

    # Any: values of columns of many types.
    def ledger(self, source_id: str) -> list[dict[str, Any]]:
        """Return the rows of `checkpoints` of one source, in no order."""
