"""What a table's log says beside its data files, read for all topics at once. Effect.

delta-rs holds all files of a table that it opens, and tells the generation of one topic at a time:
a run that has nothing to commit needs neither. Entries and plain checkpoints are read here; of a
log in any other form delta-rs is asked.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seglake.lake.parquet_rows import read_batches
from seglake.storage.errors import NotFoundError, PlaceError
from seglake.storage.storage import Storage

HINT = "_last_checkpoint"  # its name in Delta's protocol
_VERSION_DIGITS = 20
_VERSIONS = (".json", ".checkpoint.parquet")  # the ends of files whose names begin with one
_ACTIONS = ("txn", "protocol", "metaData")
_FIELDS = (  # those of a checkpoint; a few among many rows, which are of files
    *("txn.appId", "txn.version", "protocol.minReaderVersion", "protocol.minWriterVersion"),
    *("metaData.schemaString", "metaData.partitionColumns", "metaData.configuration"),
)
_OF_FILES = (b'{"add":', b'{"remove":')
_UNREADABLE = (PlaceError, ValueError, LookupError, TypeError, AttributeError)


@dataclass(frozen=True)
class TableState:
    """One version of a table, without its data files."""

    version: int
    protocol: tuple[int, int]  # the least version of a reader, and of a writer
    partition_by: Sequence[str]
    settings: Mapping[str, str]
    schema_text: str  # Delta's JSON
    generation: Callable[[str], int]  # of an app; 0 for none

    @property
    def column_names(self) -> list[str]:
        return [column["name"] for column in json.loads(self.schema_text)["fields"]]


@dataclass
class _Actions:
    """The newest of each kind, up to a version."""

    version: int = -1
    # Any: JSON.
    protocol: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, action: dict[str, Any]) -> None:
        if kind == "txn":
            self.generations[action["appId"]] = action["version"]
        elif kind == "protocol":
            self.protocol = action
        else:
            self.metadata = action


class TableLog:
    """Of one table: as of the newest version that was asked about; later ones read what is new."""

    def __init__(self, storage: Storage, log_folder: str) -> None:
        self._storage = storage
        self._log_folder = log_folder
        self._actions = _Actions()
        self._state: TableState | None = None  # of these
        self._untold_version = -1

    def newest(self) -> TableState | None:
        """The newest version; None where the log is in another form, damaged, or not there."""
        try:
            if self._actions.version < 0:
                self._actions = self._checkpoint()
            version = self._newest_version()
        except _UNREADABLE:
            return None
        return self._read_up_to(version)

    def at(self, version: int) -> TableState | None:
        """A version of the table, which must be there; None also for an older one than before."""
        try:
            if self._actions.version < 0:
                self._actions = self._checkpoint(version)
        except _UNREADABLE:
            return None
        return self._read_up_to(version)

    def _read_up_to(self, version: int) -> TableState | None:
        if self._state is not None and self._state.version == version:
            return self._state
        if version < self._actions.version or version == self._untold_version:
            return None
        try:
            while self._actions.version < version:
                self._read_next()
            self._state = _state(self._actions)
        except _UNREADABLE as error:
            self._actions, self._state = _Actions(), None
            if isinstance(error, NotFoundError) or not isinstance(error, PlaceError):
                self._untold_version = version  # expired meanwhile, or damaged: it stays so
        return self._state

    def _newest_version(self) -> int:
        """Listed, not tried out: a hint may be so old that the entry behind it has expired."""
        known = self._actions.version
        listed = self._storage.list_after(self._log_folder, _digits(known) if known >= 0 else "")
        names = [info.name for info in listed if info.name[:_VERSION_DIGITS].isdecimal()]
        return max(int(n[:_VERSION_DIGITS]) for n in names if n[_VERSION_DIGITS:] in _VERSIONS)

    def _checkpoint(self, most: int | None = None) -> _Actions:
        """What the newest checkpoint holds; nothing where there is none up to a version."""
        found = _Actions()
        try:
            hint = self._storage.read_bytes(self._path(HINT))
        except NotFoundError:
            return found
        version = int(json.loads(hint)["version"])
        if most is not None and version > most:
            return found
        path = self._path(f"{_digits(version)}.checkpoint.parquet")
        for rows in read_batches(self._storage, path, _FIELDS):
            for kind in _ACTIONS:
                for action in filter(None, rows.column(kind).to_pylist()):
                    found.add(kind, action)
        found.version = version
        return found

    def _read_next(self) -> None:
        entry = self._storage.read_bytes(self._path(f"{_digits(self._actions.version + 1)}.json"))
        for kind, action in _actions_of(entry):
            self._actions.add(kind, action)
        self._actions.version += 1

    def _path(self, name: str) -> str:
        return self._storage.join(self._log_folder, name)


def _digits(version: int) -> str:
    return f"{version:0{_VERSION_DIGITS}d}"


# Any: JSON.
def _actions_of(entry: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """The actions that are not of a data file: those are many, and are not looked at."""
    for line in entry.splitlines():
        if line.strip() and not line.startswith(_OF_FILES):
            yield from (item for item in json.loads(line).items() if item[0] in _ACTIONS)


def _state(actions: _Actions) -> TableState:
    """Raises one of `_UNREADABLE` where the log has not what every table has, in its form."""
    generations = dict(actions.generations)
    settings = dict(actions.metadata["configuration"])  # pairs in a checkpoint
    partition_by = [*actions.metadata["partitionColumns"]]
    if not all(isinstance(text, str) for text in (*settings, *settings.values(), *partition_by)):
        raise TypeError
    return TableState(
        version=actions.version,
        protocol=(
            int(actions.protocol["minReaderVersion"]),
            int(actions.protocol["minWriterVersion"]),
        ),
        partition_by=partition_by,
        settings=settings,
        schema_text=actions.metadata["schemaString"],
        generation=lambda app: generations.get(app, 0),
    )
