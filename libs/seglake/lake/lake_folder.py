"""Checks the folder of a lake, and the access to its storage. Effect."""

import contextlib
import uuid
from collections.abc import Iterator

from seglake.lake.errors import LakeRefusedError
from seglake.lake.tables import RECORDS
from seglake.storage.errors import NotFoundError, RefusedError
from seglake.storage.storage import FileInfo, Storage

SUCCESS = "_SUCCESS"
"""Name of the last file of a conversion to plain Parquet, which marks it as complete."""


@contextlib.contextmanager
def opening(lake_path: str) -> Iterator[None]:
    """Turn a refusal of the storage into LakeRefusedError, before anything was touched.

    Later in a run, a refusal may come after changes, so it stays a `RefusedError`.

    Raises:
        LakeRefusedError: the storage denies access.
    """
    try:
        yield
    except RefusedError as error:
        raise LakeRefusedError(path=lake_path, reason=str(error)) from error


def require_writable(storage: Storage, lake_path: str, folder: str) -> None:
    """Write a small file into a folder of a lake, and remove it.

    Raises:
        LakeRefusedError: the storage denies writing.
        StorageError: writing failed, and may succeed later.
    """
    path = storage.join(folder, f"{uuid.uuid4().hex}.tmp")
    with opening(lake_path):
        storage.write_bytes(path, b"")
        storage.delete(path)


def holds_tables(storage: Storage, path: str) -> bool:
    """Return whether a folder is a lake, a table of one, or a complete conversion to Parquet."""
    logs = (("_delta_log",), (RECORDS.name, "_delta_log"))
    has_log = any(storage.info(storage.join(path, *names)) is not None for names in logs)
    return has_log or holds_conversion(storage, path)


def holds_conversion(storage: Storage, path: str) -> bool:
    """Return whether a folder without tables is a complete conversion, by its mark and folder."""
    named = [storage.info(storage.join(path, name)) for name in (SUCCESS, RECORDS.name)]
    return all(info is not None for info in named)


def why_no_lake(storage: Storage, path: str, missing: str) -> str:
    """Return the reason why a folder that lacks a mandatory table is not a lake."""
    if holds_conversion(storage, path):
        return "it holds a conversion to Parquet, for readers of Parquet"
    reason = f"it has no table {missing}"
    if entries_of(storage, path):
        return reason
    return f"{reason}; no run has written to it yet: see what the last ingest said"


def entries_of(storage: Storage, folder: str) -> list[FileInfo]:
    """Return the files and folders in a folder; empty if there is none."""
    try:
        return [entry for entry in storage.list_folder(folder) if not entry.problem]
    except NotFoundError:
        return []


def files_of(storage: Storage, entry: FileInfo) -> list[FileInfo]:
    """Return all files in and below a folder; for a file, itself."""
    if not entry.is_folder:
        return [entry]
    return [f for below in entries_of(storage, entry.path) for f in files_of(storage, below)]


def unusable_name(path: str) -> str:
    """Return the reason why delta-rs cannot find a folder of this name; empty if it can."""
    if "%" in path:  # delta-rs decodes it in some places
        return "its name has a percent sign"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    return ""
