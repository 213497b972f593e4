"""The generations that tables' logs hold: Delta's `txn` actions, read for all apps at once. Effect.

delta-rs tells the version of one app, and reads the log for it from the last checkpoint on: for a
hundred topics a hundred times.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from seglake.lake.parquet_rows import read_rows
from seglake.storage.errors import NotFoundError, PlaceError
from seglake.storage.storage import Storage

_HINT = "_last_checkpoint"  # its name in Delta's protocol; a list of a long log is dear
_VERSION_DIGITS = 20


class TableGenerations:
    """Of one table: as of the newest version that was asked about; later ones read what is new."""

    def __init__(self, storage: Storage, log_folder: str) -> None:
        self._storage = storage
        self._log_folder = log_folder
        self._version = -1
        self._found: dict[str, int] = {}
        self._untold_version = -1

    def at(self, version: int) -> Mapping[str, int] | None:
        """The version of each app in a version of the table, of those that have one.

        None for a version older than asked about before, and where the log's entries and plain
        checkpoints do not tell: delta-rs knows, or knows why not.
        """
        if version < self._version or version == self._untold_version:
            return None
        try:
            if self._version < 0:
                self._found, self._version = self._checkpoint(version)
            while self._version < version:
                self._found.update(self._entry(self._version + 1))
                self._version += 1
        except (PlaceError, ValueError, LookupError):  # expired meanwhile, or damaged
            self._found, self._version = {}, -1
            self._untold_version = version
            return None
        return self._found

    def _checkpoint(self, version: int) -> tuple[dict[str, int], int]:
        """What the newest checkpoint holds, and its version; -1 for none up to a version."""
        try:
            hint = self._storage.read_bytes(self._storage.join(self._log_folder, _HINT))
        except NotFoundError:
            return {}, -1
        newest = int(json.loads(hint)["version"])
        if newest > version:
            return {}, -1
        name = f"{newest:0{_VERSION_DIGITS}d}.checkpoint.parquet"
        path = self._storage.join(self._log_folder, name)
        found: dict[str, int] = {}
        for rows in read_rows(self._storage, path, ["txn"]):
            actions: list[Any] = rows.column("txn").to_pylist()
            found.update((action["appId"], action["version"]) for action in actions if action)
        return found, newest

    def _entry(self, version: int) -> Iterator[tuple[str, int]]:
        name = f"{version:0{_VERSION_DIGITS}d}.json"
        content = self._storage.read_bytes(self._storage.join(self._log_folder, name))
        for line in content.splitlines():
            if b'"txn"' in line[:8]:
                action = json.loads(line)["txn"]
                yield action["appId"], action["version"]
