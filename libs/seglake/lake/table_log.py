"""Reads a table's state and all generations from its log, without its data files.

To open a table, delta-rs loads the list of all data files, and it returns only one generation per
call. This is slow for a run without new rows. This module reads log entries and single-file
checkpoints; for any other log, callers use delta-rs.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seglake.lake.parquet_rows import read_batches
from seglake.storage.errors import NotFoundError, PlaceError
from seglake.storage.storage import Storage

HINT = "_last_checkpoint"  # Delta's pointer to the newest checkpoint
_VERSION_DIGITS = 20
_VERSIONS = (".json", ".checkpoint.parquet")  # suffixes of file names in the log, after the version
_ACTIONS = ("txn", "protocol", "metaData")
_FIELDS = (  # fields of a checkpoint, except those of data files
    *("txn.appId", "txn.version", "protocol.minReaderVersion", "protocol.minWriterVersion"),
    *("metaData.schemaString", "metaData.partitionColumns", "metaData.configuration"),
)
_OF_FILES = (b'{"add":', b'{"remove":')
_UNREADABLE = (PlaceError, ValueError, LookupError, TypeError, AttributeError)


@dataclass(frozen=True)
class TableState:
    """State of one version of a table, without its data files.

    Attributes:
        protocol: lowest Delta protocol versions that a reader and a writer must support.
        settings: the table's properties.
        schema_text: schema as Delta's JSON.
        generation: returns the `txn` version of an application id; 0 if it has none.
    """

    version: int
    protocol: tuple[int, int]
    partition_by: Sequence[str]
    settings: Mapping[str, str]
    schema_text: str
    generation: Callable[[str], int]

    @property
    def column_names(self) -> list[str]:
        """Return the names of the columns, in order."""
        return [column["name"] for column in json.loads(self.schema_text)["fields"]]


@dataclass
class _Actions:
    """Newest action of each kind up to a version: metadata, protocol, generations."""

    version: int = -1
    # Any: JSON.
    protocol: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, action: dict[str, Any]) -> None:
        """Replace the action of a kind by a newer one."""
        if kind == "txn":
            self.generations[action["appId"]] = action["version"]
        elif kind == "protocol":
            self.protocol = action
        else:
            self.metadata = action


class TableLog:
    """Log of one table; each entry is read only once."""

    def __init__(self, storage: Storage, log_folder: str) -> None:
        """Store the path of the log; nothing is read yet.

        Args:
            storage: storage of the lake.
            log_folder: the table's `_delta_log` folder.
        """
        self._storage = storage
        self._log_folder = log_folder
        self._actions = _Actions()
        # Made from `_actions`, and kept until a newer entry is read.
        self._state: TableState | None = None
        self._unreadable_version = -1

    def newest(self) -> TableState | None:
        """Return the newest version's state; None if this module cannot read the log."""
        try:
            if self._actions.version < 0:
                self._actions = self._checkpoint()
            version = self._newest_version()
        except _UNREADABLE:
            return None
        return self._read_up_to(version)

    def at(self, version: int) -> TableState | None:
        """Return the state of a version.

        The result is None if the version is unreadable, or older than a version already read.
        """
        try:
            if self._actions.version < 0:
                self._actions = self._checkpoint(version)
        except _UNREADABLE:
            return None
        return self._read_up_to(version)

    def _read_up_to(self, version: int) -> TableState | None:
        """Return the state of a version; None if it is unreadable."""
        if self._state is not None and self._state.version == version:
            return self._state
        if version < self._actions.version or version == self._unreadable_version:
            return None
        try:
            while self._actions.version < version:
                self._read_next()
            self._state = _state(self._actions)
        except _UNREADABLE as error:
            self._actions, self._state = _Actions(), None
            if isinstance(error, NotFoundError) or not isinstance(error, PlaceError):
                # The log has expired or is damaged: do not try again.
                self._unreadable_version = version
        return self._state

    def _newest_version(self) -> int:
        """Return the newest version from a listing, since the next entry may have been deleted."""
        known = self._actions.version
        listed = self._storage.list_after(self._log_folder, _digits(known) if known >= 0 else "")
        names = [info.name for info in listed if info.name[:_VERSION_DIGITS].isdecimal()]
        return max(int(n[:_VERSION_DIGITS]) for n in names if n[_VERSION_DIGITS:] in _VERSIONS)

    def _checkpoint(self, most: int | None = None) -> _Actions:
        """Return the actions of the newest checkpoint; empty if it is missing or above `most`."""
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
        """Read the next entry of the log into the actions."""
        entry = self._storage.read_bytes(self._path(f"{_digits(self._actions.version + 1)}.json"))
        for kind, action in _actions_of(entry):
            self._actions.add(kind, action)
        self._actions.version += 1

    def _path(self, name: str) -> str:
        """Return the path of a file in the log's folder."""
        return self._storage.join(self._log_folder, name)


def _digits(version: int) -> str:
    """Return a version with the leading zeros of log file names."""
    return f"{version:0{_VERSION_DIGITS}d}"


# Any: JSON.
def _actions_of(entry: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield an entry's actions, except those for data files."""
    for line in entry.splitlines():
        if line.strip() and not line.startswith(_OF_FILES):
            yield from (item for item in json.loads(line).items() if item[0] in _ACTIONS)


def _state(actions: _Actions) -> TableState:
    """Return the state of a table after these actions.

    If a field is missing or has a wrong type, one of the errors in `_UNREADABLE` is raised.
    """
    generations = dict(actions.generations)
    settings = dict(actions.metadata["configuration"])  # checkpoints store maps as lists of pairs
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
