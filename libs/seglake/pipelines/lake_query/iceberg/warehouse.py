"""Writes Iceberg's metadata of a lake's tables below a folder, Iceberg's `hadoop` catalog. Effect.

`FOLDER/DATABASE/TABLE/metadata` has `vN.metadata.json`, its manifests, and `version-hint.text`,
which holds the newest N. The README of this folder says why N is the version of the Delta table.
"""

import re
import time
from collections.abc import Sequence

from pyiceberg.exceptions import ValidationError
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil

from seglake.errors import WrongCallError
from seglake.lake.delta_tables import LOG_FOLDER, LakeTables
from seglake.lake.snapshots import Snapshot, StoredFile, read_snapshots
from seglake.lake.tables import TABLES, Table
from seglake.pipelines.lake_query.errors import NameTakenError
from seglake.pipelines.lake_query.iceberg.manifests import manifests_of
from seglake.pipelines.lake_query.iceberg.table_metadata import (
    LAKE_PROPERTY,
    TableVersion,
    new_metadata,
    with_snapshot,
)
from seglake.pipelines.lake_query.registration import Registration
from seglake.storage.errors import NotFoundError
from seglake.storage.storage import FileInfo, Storage

_KEPT_MS = 7 * 24 * 3600 * 1000
"""How long a replaced version stays, for queries that began with it: as `maintain` keeps files."""

_HINT = "version-hint.text"
_METADATA = re.compile(r"v(\d+)\.metadata\.json")
_OWN = re.compile(r"(?:v(\d+)\.metadata\.json|(\d+)-[0-9a-f-]{36}-(?:\d+|list)\.avro)")


def write_warehouse(lake: LakeTables, *, folder: str, database: str) -> Registration:
    """Describe the newest version of each table, where that is not described yet.

    Looks at all tables before it writes the first.

    Args:
        folder: a path of the lake's storage or of another; made when it is missing.

    Raises:
        WrongCallError: the folder is a file or in the lake, or another lake has one of the names,
            or the lake is an older copy of the one whose names they are.
    """
    storage = lake.storage
    place = storage.join(folder, *database.split("."))
    if f"{storage.without_links(place)}/".startswith(f"{storage.without_links(lake.lake_path)}/"):
        raise WrongCallError(f"{place} is in the lake: choose another folder for --iceberg")
    found = storage.info(folder)
    if found is not None and not found.is_folder:
        raise WrongCallError(f"{folder} is a file: --iceberg needs a folder")
    snapshots = read_snapshots(lake, TABLES)
    described = [_Described(storage, storage.join(place, table.name)) for table in TABLES]
    versions = [_version_of(table, lake, snapshots[table.name]) for table in TABLES]
    for there, version in zip(described, versions, strict=True):
        there.require_ours(version)
    # In the order of commits: what checkpoints say is covered is in the other tables.
    for there, version in zip(described, versions, strict=True):
        there.bring_to(version, snapshots[version.table.name].files)
    names = tuple(table.name for table in TABLES)
    new = tuple(name for name, there in zip(names, described, strict=True) if there.is_new)
    return Registration(place, lake.lake_path, names, (), new)


def _version_of(table: Table, lake: LakeTables, snapshot: Snapshot) -> TableVersion:
    return TableVersion(table, lake.lake_path, snapshot.table_id, snapshot.version)


class _Described:
    """The folder of one of Iceberg's tables, as it was when it was looked at."""

    def __init__(self, storage: Storage, folder: str) -> None:
        self._storage = storage
        self._folder = folder
        self._metadata = storage.join(folder, "metadata")
        self._files = _listed(storage, self._metadata)
        self._versions_ms = {
            int(found[1]): file.modified_at_ms
            for file in self._files
            if (found := _METADATA.fullmatch(file.name))
        }

    @property
    def is_new(self) -> bool:
        """Whether there was no such table."""
        return not self._versions_ms

    def require_ours(self, wanted: TableVersion) -> None:
        """Refuse a place that has something else, or a newer version.

        Raises:
            WrongCallError: it does.
        """
        if self._storage.info(self._storage.join(self._folder, LOG_FOLDER)) is not None:
            raise NameTakenError(self._folder, "a Delta table")
        others = (
            file.name
            for file in self._files
            if file.name.endswith(".metadata.json") and not _METADATA.fullmatch(file.name)
        )
        if (other := next(others, None)) is not None:
            raise NameTakenError(self._folder, f"{other} was written by something else")
        if self.is_new:
            return
        newest = max(self._versions_ms)
        known = self._read(newest)
        owner = known.properties.get(LAKE_PROPERTY, "")
        if owner != wanted.lake:
            raise NameTakenError(self._folder, owner)
        if str(known.table_uuid) != wanted.table_id:
            raise NameTakenError(self._folder, f"but of another one that was at {owner}")
        if known.current_snapshot_id not in (None, newest):
            raise NameTakenError(self._folder, "another tool has written to it")
        if newest > wanted.version:
            raise WrongCallError(
                f"{self._folder} describes version {newest} of the table, and {wanted.lake} has"
                f" version {wanted.version}: it is an older copy. To go back to it, delete"
                f" {self._folder} first"
            )

    def bring_to(self, wanted: TableVersion, files: Sequence[StoredFile]) -> None:
        """Write what is missing, and delete what was replaced long ago."""
        if wanted.version not in self._versions_ms:
            self._write(wanted, files)
        hint = self._storage.join(self._metadata, _HINT)
        if not self._says(wanted.version):
            self._storage.write_bytes(hint, str(wanted.version).encode())
        self._delete_replaced()

    def _write(self, wanted: TableVersion, files: Sequence[StoredFile]) -> None:
        metadata = new_metadata(wanted, location=self._folder)
        self._storage.make_folder(self._metadata)
        if files:
            written = manifests_of(metadata, files)
            for path, content in written:
                self._storage.write_bytes(path, content)
            metadata = with_snapshot(metadata, manifest_list=written[-1].path, files=files)
        content = metadata.model_dump_json(exclude_none=True).encode()
        self._storage.write_bytes(self._metadata_path(wanted.version), content)

    def _says(self, version: int) -> bool:
        """Whether the hint names a version."""
        path = self._storage.join(self._metadata, _HINT)
        is_there = any(file.name == _HINT for file in self._files)
        return is_there and self._storage.read_bytes(path).strip() == str(version).encode()

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
            raise NameTakenError(self._folder, "its metadata cannot be read") from error

    def _metadata_path(self, version: int) -> str:
        return self._storage.join(self._metadata, f"v{version}.metadata.json")


def _listed(storage: Storage, folder: str) -> list[FileInfo]:
    try:
        return storage.list_folder(folder)
    except NotFoundError:
        return []
