"""What the commit protocol asks of a lake: the port. Pure.

The protocol is made of generators. Before each call of the port that reads or writes the lake they
yield how many seconds to wait: between two such calls other drivers may do anything, and this one
may die. Whoever drives the generators decides what happens there; `delta_commit` drives them
against Delta tables.
"""

from collections.abc import Generator, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from seglake.lake.parquet_files import DataFile
from seglake.lake.redo_file import Redo
from seglake.lake.tables import Table

_T = TypeVar("_T")

Steps: TypeAlias = Generator[float, None, _T]
"""Yields the seconds to wait before its next call of the port; returns the outcome."""

NOW = 0.0


class Generations(Protocol):
    """Those of one version of a table."""

    def generation(self, app: str) -> int:
        """The version of an app, 0 for none."""


class TableView(Generations, Protocol):
    """One version of a table, to commit to: it does not move on."""

    def file_names(self, topics: Sequence[str]) -> set[str]:
        """The names, without folders, of the topics' data files."""


class CommitPort(Protocol):
    """A lake as the protocol sees it. Calls raise what the lake's storage raises."""

    @property
    def pauses_s(self) -> Sequence[float]:
        """How long to wait before each try of a commit."""

    @property
    def redo_folder(self) -> str: ...

    def new_commit_id(self) -> str: ...

    def newest(self, table: Table) -> Generations:
        """Those of the newest version, to be read before the next call for the same table."""

    def opened(self, table: Table) -> TableView:
        """The newest version, to commit to."""

    def commit_ids(self, table: Table, behind: TableView | None = None) -> set[str | None]:
        """Those of all commits, or of those behind a view, whose log entries are still there."""

    def require_own_rows(self, topics: Iterable[str]) -> None:
        """See that no other tool has changed rows of the tables that topics are committed to.

        Our own commit on top of such a change would hide it from all who look later.

        Raises:
            ForeignChangeError: one has; nothing was touched.
        """

    def commit(self, table: Table, view: TableView, redo: Redo, topics: Sequence[str]) -> str:
        """Add the topics' files of the table, and their generations, in one commit.

        It fails where a commit behind the view has moved one of these generations. The log is
        durable on return.

        Returns:
            The failure in words, empty when there is none; it may yet have happened.
        """

    def make_durable(self, table: Table) -> None:
        """Let a power cut not undo what is in the table's log, whoever put it there."""

    def redo_files(self) -> list[Redo]: ...

    def write_redo(self, redo: Redo) -> None: ...

    def delete_redo(self, redo: Redo) -> None: ...

    def require_files(self, files: Iterable[DataFile]) -> None:
        """See that data files are there, with their sizes, and make them durable.

        Raises:
            DataFileError: one is not.
        """

    # Any: values of columns of many types.
    def ledger(self, source_id: str) -> list[dict[str, Any]]:
        """The rows of `checkpoints` of one source, in no order."""
