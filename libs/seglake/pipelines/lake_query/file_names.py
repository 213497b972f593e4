"""The names under which DuckDB opens a lake's files. Pure."""

import posixpath
import re

SCHEME = "seglake"

# What would mean something in a glob or a partition's folder.
_PLAIN_PATH = re.compile(r"/[^*?\[\]{}=]*")


def is_plain(path: str) -> bool:
    """Whether DuckDB can read below a path by itself: it is local, and nothing but a name."""
    return _PLAIN_PATH.fullmatch(path) is not None


def below(path: str, folder: str) -> str:
    """The name of a file below the folder for whom `storage_files` serves."""
    return f"{SCHEME}://{posixpath.relpath(path, folder)}"


def literal(text: str) -> str:
    """A text in SQL."""
    return "'{}'".format(text.replace("'", "''"))
