"""Writes Iceberg metadata of a lake's tables into a folder: a `hadoop` catalog.

`FOLDER/DATABASE/TABLE/metadata` has `vN.metadata.json`, its manifests, and `version-hint.text` with
the newest N. The README of this folder explains why N is the Delta table's version.
"""

import re
import time
from collections.abc import Mapping

from pyiceberg.exceptions import ValidationError
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil

from seglake.errors import WrongCallError
from seglake.lake.delta_tables import LOG_FOLDER, LakeTables
from seglake.lake.table_view import read_snapshots
from seglake.lake.tables import Table
from seglake.pipelines.lake_query.errors import NameInUseError
from seglake.pipelines.lake_query.iceberg.manifests import manifests_of
from seglake.pipelines.lake_query.iceberg.table_metadata import (
    TableVersion,
    new_metadata,
    with_snapshot,
)
from seglake.pipelines.lake_query.registration import Registration
from seglake.pipelines.lake_query.scripts import LAKE_PROPERTY
from seglake.storage.errors import NotFoundError
from seglake.storage.storage import Storage

_KEPT_MS = 7 * 24 * 3600 * 1000
"""Time in ms for which replaced versions are kept (7 days), for queries that use them."""

_HINT = "version-hint.text"
_METADATA = re.compile(r"v(\d+)\.metadata\.json")
_OWN = re.compile(r"(?:v(\d+)\.metadata\.json|(\d+)-[0-9a-f-]{36}-(?:\d+|list)\.avro)")


def write_warehouse(
    lake: LakeTables, named: Mapping[str, Table], *, folder: str, database: str
) -> Registration:
    """Write metadata of each table's newest version, unless it exists already.

    All tables are checked before the first one is written.

    Args:
        lake: a lake that has these tables.
        named: the tables by their names in the namespace, in the order of commits.
        folder: a path on any storage; created if it is missing.
        database: the namespace of the tables.

    Returns:
        The tables that are described now.

    Raises:
        WrongCallError: the folder is a file or inside the lake, a name belongs to another lake, or
            the lake is an older copy of the one that the folder describes.
    """
    storage = lake.storage
    place = storage.join(folder, *database.split("."))
    if f"{storage.without_links(place)}/".startswith(f"{storage.without_links(lake.lake_path)}/"):
        raise WrongCallError(f"{place} is in the lake: choose another folder for --iceberg")
    found = storage.info(folder)
    if found is not None and not found.is_folder:
        raise WrongCallError(f"{folder} is a file: --iceberg needs a folder")
    snapshots = read_snapshots(lake, [*named.values()])
    described = {
        name: _Described(
            storage,
            storage.join(place, name),
            TableVersion(table, lake.lake_path, snapshots[table.name]),
        )
        for name, table in named.items()
    }
    for there in described.values():
        there.require_ours()
    # A ledger follows its tables, as in commits: rows become visible before their range.
    for there in described.values():
        there.bring_up_to_date()
    new = tuple(name for name, there in described.items() if there.is_new)
    return Registration(place, lake.lake_path, tuple(described), (), new)


class _Described:
    """Iceberg table: the present state of its folder, and the Delta version to describe."""

    def __init__(self, storage: Storage, folder: str, requested: TableVersion) -> None:
        self._storage = storage
        self._folder = folder
        self._requested = requested
        self._metadata = storage.join(folder, "metadata")
        try:
            self._files = storage.list_folder(self._metadata)
        except NotFoundError:
            self._files = []
        self._versions_ms = {
            int(found[1]): file.modified_at_ms
            for file in self._files
            if (found := _METADATA.fullmatch(file.name))
        }

    @property
    def is_new(self) -> bool:
        """Return whether Iceberg had no table with this name."""
        return not self._versions_ms

    def require_ours(self) -> None:
        """Raise WrongCallError if the folder has other data, or a newer version of the table."""
        if self._storage.info(self._storage.join(self._folder, LOG_FOLDER)) is not None:
            raise NameInUseError(self._folder, "a Delta table")
        others = (
            file.name
            for file in self._files
            if file.name.endswith(".metadata.json") and not _METADATA.fullmatch(file.name)
        )
        if (other := next(others, None)) is not None:
            raise NameInUseError(self._folder, f"{other} was written by something else")
        if self.is_new:
            return
        newest = max(self._versions_ms)
        known = self._read(newest)
        owner = known.properties.get(LAKE_PROPERTY, "")
        if owner != self._requested.lake:
            raise NameInUseError(self._folder, owner)
        if str(known.table_uuid) != self._requested.snapshot.table_id:
            raise NameInUseError(self._folder, f"but belongs to another one that was at {owner}")
        if known.current_snapshot_id not in (None, newest):
            raise NameInUseError(self._folder, "another tool has written to it")
        if newest > self._requested.snapshot.version:
            raise WrongCallError(
                f"{self._folder} describes version {newest} of the table, and {owner} has version"
                f" {self._requested.snapshot.version}: it is an older copy. To go back to it,"
                f" delete {self._folder} first"
            )

    def bring_up_to_date(self) -> None:
        """Write missing metadata, and delete versions that were replaced long ago."""
        version = self._requested.snapshot.version
        if version not in self._versions_ms:
            self._write()
        hint, content = self._storage.join(self._metadata, _HINT), str(version).encode()
        is_there = any(file.name == _HINT for file in self._files)
        if not is_there or self._storage.read_bytes(hint).strip() != content:
            self._storage.write_bytes(hint, content)
        self._delete_replaced()

    def _write(self) -> None:
        metadata = new_metadata(self._requested, location=self._folder)
        files = self._requested.snapshot.files
        self._storage.make_folder(self._metadata)
        if files:
            written = manifests_of(metadata, files)
            for file in written:
                self._storage.write_bytes(file.location, file.content)
            metadata = with_snapshot(metadata, manifest_list=written[-1].location, files=files)
        content = metadata.model_dump_json(exclude_none=True).encode()
        self._storage.write_bytes(self._metadata_path(metadata.last_sequence_number), content)

    def _delete_replaced(self) -> None:
        before_ms = int(time.time() * 1000) - _KEPT_MS
        for file in self._files:
            if (found := _OWN.fullmatch(file.name)) is None:
                continue
            version = int(found[1] or found[2])
            replaced_ms = (ms for other, ms in self._versions_ms.items() if other > version)
            if any(ms < before_ms for ms in replaced_ms):
                self._storage.delete(file.path)

    def _read(self, version: int) -> TableMetadata:
        path = self._metadata_path(version)
        try:
            return TableMetadataUtil.parse_raw(self._storage.read_bytes(path).decode())
        except (ValidationError, UnicodeDecodeError) as error:
            raise NameInUseError(self._folder, "its metadata cannot be read") from error

    def _metadata_path(self, version: int) -> str:
        return self._storage.join(self._metadata, f"v{version}.metadata.json")
