"""Checks that output can be written to its places. Reads their state."""

import os
from contextlib import suppress
from pathlib import Path

from seglake.environment.storages import open_storages
from seglake.errors import WrongCallError
from seglake.settings.settings import Settings
from seglake.storage.errors import NotFoundError, RefusedError, StorageError

_OPEN_FILES = Path("/proc")  # targets of /dev/stdout and /dev/fd on Linux


def check_report_place(output: str, settings: Settings) -> None:
    """Check in advance that the report can be written.

    Args:
        output: the report's place, a path or a URI.
        settings: settings with access to the storage.

    Raises:
        WrongCallError: the place is a folder, its folder does not exist, the scheme of its URI is
            unknown, or access is refused.
    """
    storage = open_storages(settings.spark.properties)
    path = storage.locate(output)
    is_local = "://" not in path
    try:
        found = storage.info(path)
        if not is_local and found is None:
            storage.write_bytes(path, b"")
            with suppress(StorageError):  # the report replaces what is there
                storage.delete(path)
    except (RefusedError, NotFoundError) as error:
        raise WrongCallError(f"the report cannot be written to {output}: {error}") from error
    if found is not None and found.is_folder:
        raise WrongCallError(f"the report cannot be written to {output}: it is a folder")
    if is_local and not Path(path).parent.is_dir():
        raise WrongCallError(f"the report {output} must name a file in an existing folder")
    if is_local and not may_add_files(Path(path).parent):
        raise WrongCallError(f"the report cannot be written to {output}: no rights in its folder")
    if is_local and not may_be_written(path):
        raise WrongCallError(f"the report cannot be written to {output}: it is no regular file")


def may_be_written(place: str) -> bool:
    """Return whether a file can be written to a path: nothing or a regular file is there.

    Pipes, devices and open files of this process are refused, because a new file would replace
    their name, and writing to a pipe without a reader would wait forever.
    """
    path = Path(place)
    try:
        if not path.exists():
            return not path.is_symlink() or may_be_written(str(path.resolve()))
        if not path.is_file():
            return False
        while path.is_symlink() and not _is_of_open_files(path):
            path = path.parent / path.readlink()
        return not _is_of_open_files(path)
    except (OSError, RuntimeError):  # the path is a link to itself
        return False


def may_add_files(folder: Path) -> bool:
    """Return whether this process may add files to a folder."""
    by_effective_ids = os.access in os.supports_effective_ids
    return os.access(folder, os.W_OK | os.X_OK, effective_ids=by_effective_ids)


def _is_of_open_files(path: Path) -> bool:
    return path.parent.resolve().is_relative_to(_OPEN_FILES)
