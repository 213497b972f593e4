"""Checks a lake's folder and the access to it."""

import contextlib
import uuid
from collections.abc import Iterator

from seglake.lake.errors import LakeRefusedError
from seglake.lake.tables import RECORDS
from seglake.storage.errors import NotFoundError, RefusedError
from seglake.storage.storage import FileInfo, Storage

SUCCESS = "_SUCCESS"
"""Name of the file that marks a complete conversion to plain Parquet; it is written last."""


@contextlib.contextmanager
def opening(lake_path: str) -> Iterator[None]:
    """Turn RefusedError into LakeRefusedError, which states that nothing was changed.

    Use this only before a run's first change.

    Raises:
        LakeRefusedError: the storage denies access.
    """
    try:
        yield
    except RefusedError as error:
        raise LakeRefusedError(path=lake_path, reason=str(error)) from error


def require_writable(storage: Storage, lake_path: str, folder: str) -> None:
    """Check that a folder of a lake is writable: create an empty file and delete it.

    Raises:
        LakeRefusedError: the storage denies write access.
        StorageError: writing failed, but may succeed later.
    """
    path = storage.join(folder, f"{uuid.uuid4().hex}.tmp")
    with opening(lake_path):
        storage.write_bytes(path, b"")
        storage.delete(path)


def holds_tables(storage: Storage, path: str) -> bool:
    """Return whether a folder is a lake, one of its tables, or a conversion to plain Parquet."""
    logs = (("_delta_log",), (RECORDS.name, "_delta_log"))
    has_log = any(storage.info(storage.join(path, *names)) is not None for names in logs)
    return has_log or holds_conversion(storage, path)


def holds_conversion(storage: Storage, path: str) -> bool:
    """Return whether a folder is a complete conversion to plain Parquet."""
    named = [storage.info(storage.join(path, name)) for name in (SUCCESS, RECORDS.name)]
    return all(info is not None for info in named)


def why_no_lake(storage: Storage, path: str, missing: str) -> str:
    """Return why a folder without a mandatory table is not a lake, as text."""
    if holds_conversion(storage, path):
        return "it is a conversion to Parquet"
    reason = f"it has no table {missing}"
    if entries_of(storage, path):
        return reason
    if storage.info(path) is None:
        return "it does not exist: check the path"
    return f"{reason}; the folder is empty: see the output of the last ingest"


def entries_of(storage: Storage, folder: str) -> list[FileInfo]:
    """Return the files and folders in a folder; empty for a missing folder."""
    try:
        return [entry for entry in storage.list_folder(folder) if not entry.problem]
    except NotFoundError:
        return []


def files_of(storage: Storage, entry: FileInfo) -> list[FileInfo]:
    """Return all files below a folder; for a file, the file itself."""
    if not entry.is_folder:
        return [entry]
    return [f for below in entries_of(storage, entry.path) for f in files_of(storage, below)]


def unusable_name(path: str) -> str:
    """Return why delta-rs cannot handle a folder with this name, as text; empty if it can."""
    if "%" in path:  # delta-rs decodes some escapes, such as %20
        return "its name has a percent sign"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    return ""
