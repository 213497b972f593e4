"""A lake in memory behind the commit protocol's port, with the guarantees that Delta gives.

A commit is refused where one behind its view moved one of its generations; it lands at one number
of the log or not at all. Everything else may go wrong: answers are lost, commits arrive late,
views and listings are old, files vanish that no snapshot names.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, NamedTuple

from seglake.lake.app_versions import MAINTAIN_APP, app_id
from seglake.lake.commit_port import CommitBase, CommitPort
from seglake.lake.errors import DataFileError
from seglake.lake.parquet_files import DataFile
from seglake.lake.redo_file import Redo
from seglake.lake.tables import CHECKPOINTS, LOG_TABLES, RECORDS, CommitTables, Table

SOURCE = "cluster"
TABLES = LOG_TABLES.of(["orders"])
# All different: by them one can tell how many tries are left.
_PAUSES_S = (0.0, 0.1, 0.2)


class Fate(Enum):
    """What becomes of a commit."""

    DONE = auto()
    REFUSED = auto()
    """It fails, and has not happened."""
    ANSWER_LOST = auto()
    """It fails, and has happened."""
    LATE = auto()
    """It fails, and may yet happen."""


class OffsetRange(NamedTuple):
    """Half-open; what a data file holds, in place of rows."""

    topic: str
    start: int
    end: int


_ERASURE = "erasure of "


def erasure(held: OffsetRange) -> OffsetRange:
    """The row of the ledger that says that a range was erased."""
    return held._replace(topic=_ERASURE + held.topic)


def is_erasure(held: OffsetRange) -> bool:
    return held.topic.startswith(_ERASURE)


class Version(NamedTuple):
    """A table after one commit. `key` tells it from each other version in any schedule."""

    files: frozenset[str]
    generations: dict[str, int]
    moved: frozenset[str]
    commit_id: str | None
    writer: str
    key: int


NOTHING = Version(frozenset(), {}, frozenset(), None, "", 0)


class Late(NamedTuple):
    """A commit that is still on its way: to this number of the log, if that is free then."""

    table: str
    number: int
    version: Version


@dataclass
class SimulatedLake:
    """What a store holds. A commit is number `len(log)` of its table's log when it lands."""

    logs: dict[str, list[Version]] = field(
        default_factory=lambda: {table.name: [NOTHING] for table in TABLES}
    )
    durable: dict[str, int] = field(default_factory=lambda: {table.name: 1 for table in TABLES})
    history_start: dict[str, int] = field(
        default_factory=lambda: {table.name: 0 for table in TABLES}
    )
    contents: dict[str, tuple[OffsetRange, ...]] = field(default_factory=dict)
    writers: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    redos: dict[str, Redo] = field(default_factory=dict)
    deleted_redos: dict[str, Redo] = field(default_factory=dict)
    late: list[Late] = field(default_factory=list)
    erased: list[OffsetRange] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def land(self, table: str, version: Version) -> None:
        """Append a commit, and see that what is published is complete."""
        self.logs[table].append(version)
        if table == CHECKPOINTS.name:
            self.faults += self.unpublishable()

    def arrive(self, late: Late) -> None:
        """Let a late commit land, unless another has its number."""
        self.late.remove(late)
        if len(self.logs[late.table]) == late.number:
            self.land(late.table, late.version)

    def ranges(self, table: str) -> list[OffsetRange]:
        """What the newest version of a table holds, sorted, doubles kept."""
        names = self.logs[table][-1].files
        return sorted(held for name in names for held in self.contents[name])

    def unpublishable(self) -> list[str]:
        """What is wrong with the ranges of the ledger: doubled, overlapping, or not there.

        A range that a commit erases is in no table until the commit reaches `gaps`.
        """
        ledger = [held for held in self.ranges("checkpoints") if not is_erasure(held)]
        found = [
            f"{first} and {second} are both in the ledger"
            for first, second in itertools.pairwise(ledger)
            if first.topic == second.topic and first.end > second.start
        ]
        taken = self.ranges("records")
        own = len(taken)
        taken += self.ranges("gaps")
        for wanted in ledger:
            least = 0 if self._is_unsettled(wanted.topic) else 1
            if not least <= taken.count(wanted) <= 1:
                found.append(f"{wanted} is published and {taken.count(wanted)} times in records")
            if self.ranges("batches").count(wanted) != 1:
                found.append(f"{wanted} is published and not once in batches")
        gone = [n for log in self.logs.values() for n in log[-1].files if n in self.gone]
        found += [f"{held} is erased and in records" for held in self.erased if held in taken[:own]]
        return found + [f"file {name} is in a table and gone" for name in gone]

    def _is_unsettled(self, topic: str) -> bool:
        """Whether a commit of the topic has not reached all tables."""
        ends = (self.logs[table.name][-1].generations for table in (RECORDS, CHECKPOINTS))
        first, last = (generations.get(app_id(SOURCE, topic), 0) for generations in ends)
        return first != last

    def power_cut(self, choose: Callable[[int, int], int]) -> None:
        """Undo commits that nobody synced, and deletions, which nobody ever syncs.

        Args:
            choose: one of the numbers from the first to the second.
        """
        self.late.clear()
        self.redos |= {name: redo for name, redo in self.deleted_redos.items() if choose(0, 1)}
        for name, log in self.logs.items():
            del log[choose(self.durable[name], len(log)) :]
            self.durable[name] = len(log)

    def key(self) -> int:
        """Equal for equal contents; late commits and durability are left to random schedules."""
        logs = tuple(log[-1].key for log in self.logs.values())
        redos = frozenset((name, *redo.generations.items()) for name, redo in self.redos.items())
        return hash((logs, redos, frozenset(self.contents.items()), frozenset(self.gone)))


class View(NamedTuple):
    """A version by its number in the log."""

    number: int
    version: Version

    def generation(self, app: str) -> int:
        return self.version.generations.get(app, 0)

    def file_names(self, topics: Sequence[str]) -> set[str]:
        return {*self.version.files}


def _of_this_port(view: CommitBase) -> View:
    if not isinstance(view, View):
        raise TypeError("a view of another port")
    return view


class Fates:
    """How the world treats one run; this one does everything as it should."""

    def commit(self) -> Fate:
        return Fate.DONE

    def versions_behind(self) -> int:
        """By how many versions a view is older than the newest."""
        return 0

    def hides_redo(self) -> bool:
        """Whether a listing leaves out a file."""
        return False


class SimulatedPort(CommitPort):
    """One run's connection to the lake."""

    def __init__(self, lake: SimulatedLake, run: str, fates: Fates) -> None:
        self._lake = lake
        self._run = run
        self._fates = fates
        self._count = 0

    @property
    def commits_to(self) -> CommitTables:
        return LOG_TABLES

    @property
    def pauses_s(self) -> Sequence[float]:
        return _PAUSES_S

    @property
    def redo_folder(self) -> str:
        return "redo"

    def new_commit_id(self) -> str:
        self._count += 1
        return f"{self._run}-{self._count}"

    def newest(self, table: Table) -> View:
        log = self._lake.logs[table.name]
        number = max(len(log) - 1 - self._fates.versions_behind(), 0)
        return View(number, log[number])

    opened = newest

    def commit_ids(self, table: Table, behind: CommitBase | None = None) -> set[str | None]:
        start = self._lake.history_start[table.name]
        if behind is not None:
            start = max(start, _of_this_port(behind).number + 1)
        return {version.commit_id for version in self._lake.logs[table.name][start:]}

    def commit(self, table: Table, view: CommitBase, redo: Redo, topics: Sequence[str]) -> str:
        names = [f.path for f in redo.files if f.table == table.name and f.topic in topics]
        moves = {app_id(redo.source_id, topic): redo.generations[topic] for topic in topics}
        seen = _of_this_port(view)
        is_deciding = table == self.commits_to.deciding
        removed = {f.name for f in redo.removed if is_deciding and f.topic in topics}
        if removed:
            moves[MAINTAIN_APP] = seen.generation(MAINTAIN_APP) + 1
        return self._committed(table, seen, (removed, names), moves, redo.commit_id)

    def make_durable(self, table: Table) -> None:
        self._lake.durable[table.name] = len(self._lake.logs[table.name])

    def redo_files(self) -> list[Redo]:
        found = sorted(self._lake.redos.items())
        return [redo for _, redo in found if not self._fates.hides_redo()]

    def write_redo(self, redo: Redo) -> None:
        self._lake.redos[redo.file_name] = redo

    def delete_redo(self, redo: Redo) -> None:
        if self._lake.redos.pop(redo.file_name, None) is not None:
            self._lake.deleted_redos[redo.file_name] = redo

    def require_own_rows(self, topics: Iterable[str]) -> None:
        """Nobody else writes here."""

    def require_files(self, files: Iterable[DataFile]) -> None:
        gone = [file.path for file in files if file.path in self._lake.gone]
        if gone:
            raise DataFileError(path=gone[0], expected_bytes=1, found_bytes=None)

    # Any: as the port has it.
    def ledger(self, source_id: str) -> list[dict[str, Any]]:
        rows = self._lake.ranges(CHECKPOINTS.name)
        return [row._asdict() for row in rows]

    def write_file(self, table: Table, *held: OffsetRange, topic: str = "") -> DataFile:
        """What a task does before a commit; nobody sees the file."""
        name = f"{self.new_commit_id()}.{table.name}"
        self._lake.contents[name] = held
        self._lake.writers[name] = self._run
        return DataFile(table.name, topic or held[0].topic, name, 1, 1, "")

    def rewrite(self, table: Table, view: View, old: Sequence[str], new: str) -> bool:
        """Put one file in the place of others, as a compaction does; whether it was accepted."""
        newest = self._lake.logs[table.name][-1]
        is_accepted = newest.files.issuperset(old)
        if is_accepted:
            files = newest.files.difference(old) | {new}
            version = newest._replace(
                files=files, moved=frozenset(), commit_id=None, writer=self._run
            )
            self._lake.land(table.name, version._replace(key=hash((newest.key, new))))
            # Else a vacuum and a power cut lose rows, whoever compacts: it must sync.
            self._lake.durable[table.name] = len(self._lake.logs[table.name])
        return is_accepted

    def _committed(
        self,
        table: Table,
        view: View,
        changed: tuple[set[str], Sequence[str]],
        moves: dict[str, int],
        commit_id: str,
    ) -> str:
        log, (removed, names) = self._lake.logs[table.name], changed
        if removed and view.number + 1 != len(log):
            return "Version exists"
        if any(version.moved & moves.keys() for version in log[view.number + 1 :]):
            return "Concurrent transaction failed"
        before = log[-1]
        version = Version(
            files=before.files.difference(removed).union(names),
            generations=before.generations | moves,
            moved=frozenset(moves),
            commit_id=commit_id,
            writer=self._run,
            key=hash((before.key, commit_id, *sorted(moves.items()))),
        )
        fate = self._fates.commit()
        if fate is Fate.LATE:
            self._lake.late.append(Late(table.name, len(log), version))
        if fate in (Fate.DONE, Fate.ANSWER_LOST):
            self._lake.land(table.name, version)
        if fate is Fate.DONE:
            self._lake.durable[table.name] = len(log)
        return "" if fate is Fate.DONE else fate.name
