"""Interface through which the commit protocol reads and writes a lake.

The protocol consists of generators. Before each call that reads or writes the lake, a generator
yields the seconds to wait. Between two calls, other drivers may commit, and this driver may die.
`delta_commit` runs the generators on Delta tables; tests run them on a simulated lake.
"""

from collections.abc import Generator, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from seglake.lake.parquet_files import DataFile
from seglake.lake.redo_file import Redo
from seglake.lake.tables import CommitTables, Table

_T = TypeVar("_T")

Steps: TypeAlias = Generator[float, None, _T]
"""Generator that yields the seconds to wait before each call of the port, and returns a result."""

NOW = 0.0


class Generations(Protocol):
    """Generations of topics in one version of a table."""

    def generation(self, app: str) -> int:
        """Return the `txn` version of an application id in the table's log; 0 if it has none."""


class CommitBase(Generations, Protocol):
    """Fixed version of a table, on which a commit is based."""

    def file_names(self, topics: Sequence[str]) -> set[str]:
        """Return the names of the topics' data files, without folders."""


class CommitPort(Protocol):
    """Operations of the protocol on a lake; they may raise errors of the lake's storage."""

    @property
    def commits_to(self) -> CommitTables:
        """Return the tables to which a wave is committed, in order."""

    @property
    def pauses_s(self) -> Sequence[float]:
        """Return the seconds to wait before each attempt to commit."""

    @property
    def redo_folder(self) -> str:
        """Return the path of the redo files' folder, for messages."""

    def new_commit_id(self) -> str:
        """Return a unique id for a commit."""

    def newest(self, table: Table) -> Generations:
        """Return the newest version's generations, valid until the next call for the table."""

    def opened(self, table: Table) -> CommitBase:
        """Return the newest version, as the base of a commit."""

    def commit_ids(self, table: Table, after: CommitBase | None = None) -> set[str | None]:
        """Return the commit ids in the log; with `after`, only ids of later versions."""

    def require_own_rows(self, topics: Iterable[str]) -> None:
        """Require that no other tool has changed rows of the topics' tables.

        Call it before each commit, because later checks only examine changes after that commit.

        Raises:
            ForeignChangeError: another tool has changed rows. This call has changed nothing.
        """

    def commit(self, table: Table, view: CommitBase, redo: Redo, topics: Sequence[str]) -> str:
        """Add a table's files of some topics and set their generations, in one commit.

        In the deciding table, the commit may also remove files listed in the redo file; it must
        then directly follow the view's version. A commit without removals fails only if a commit
        after the view's version has advanced one of these generations. On return, the table's log
        is durable.

        Returns:
            The failure as text, which is empty if there is none. A commit that failed may have
            happened.
        """

    def make_durable(self, table: Table) -> None:
        """Sync the table's log, so that a power cut loses no entry of any driver."""

    def redo_files(self) -> list[Redo]:
        """Return all redo files of the lake, with which a later run completes a commit."""

    def write_redo(self, redo: Redo) -> None:
        """Write a redo file, durable on return."""

    def delete_redo(self, redo: Redo) -> None:
        """Delete a redo file that no run needs any longer; it may already be gone."""

    def require_files(self, files: Iterable[DataFile]) -> None:
        """Require that data files exist with their sizes, and make them durable.

        Raises:
            DataFileError: a file is missing or has another size.
        """

    # Any: values of columns of many types.
    def ledger(self, source_id: str) -> list[dict[str, Any]]:
        """Return the rows of `checkpoints` of one source, in any order."""
