"""Checks that files can be written to paths on this machine. Reads their state."""

import os
from pathlib import Path

_OPEN_FILES = Path("/proc")  # targets of /dev/stdout and /dev/fd on Linux


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
