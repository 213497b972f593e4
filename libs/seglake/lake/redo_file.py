"""Reads and writes redo files: lists of the data files that a commit adds to each table.

A redo file is written before the commit to `records`. If that commit succeeds and the driver dies,
any driver can complete the other tables from the redo file, without the source and without
decoding. The file is small and written atomically. It is deleted when the commit has reached
`checkpoints`, or when the commit can no longer happen.

Each attempt to commit has a separate redo file; the same `commit_id` is in the redo file and in the
commit's info.
"""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from seglake.lake.errors import RedoFileError
from seglake.lake.lake_folder import entries_of
from seglake.lake.parquet_files import DataFile, RemovedFile
from seglake.storage.errors import NotFoundError
from seglake.storage.storage import Storage

_FORMAT = 1
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class Redo:
    """Content of a redo file: the generation of each topic, and the data files of all tables.

    Attributes:
        removed: files that the commit removes from the deciding table. A recovery does not need
            this list, and redo files of earlier versions lack it.
    """

    source_id: str
    attempt_id: str
    commit_id: str
    run_id: str
    created_at_ms: int
    generations: Mapping[str, int]
    files: tuple[DataFile, ...]
    removed: tuple[RemovedFile, ...] = ()

    @property
    def file_name(self) -> str:
        """Return the name of the redo file."""
        return f"{self.attempt_id}.{self.commit_id}{_SUFFIX}"


def write(storage: Storage, folder: str, redo: Redo) -> None:
    """Write the redo file to its folder, durable on return."""
    content = asdict(redo) | {
        "format": _FORMAT,
        "files": [file._asdict() for file in redo.files],
        "removed": [file._asdict() for file in redo.removed],
    }
    storage.write_bytes(storage.join(folder, redo.file_name), json.dumps(content).encode())


def delete(storage: Storage, folder: str, redo: Redo) -> None:
    """Delete the redo file, if it exists."""
    storage.delete(storage.join(folder, redo.file_name))


def read_all(storage: Storage, folder: str) -> list[Redo]:
    """Return the redo files in a folder, except files that vanish meanwhile.

    Raises:
        RedoFileError: a file does not have the content that seglake writes.
    """
    redos = []
    for entry in entries_of(storage, folder):
        if entry.name.endswith(_SUFFIX) and not entry.name.startswith("."):
            with contextlib.suppress(NotFoundError):
                redos.append(_parse(entry.path, storage.read_bytes(entry.path)))
    return redos


def _parse(path: str, data: bytes) -> Redo:
    """Return the content of a redo file; raise RedoFileError if it is not valid."""
    try:
        content = json.loads(data)
        if content.pop("format") != _FORMAT:
            raise RedoFileError(path=path, reason=f"expected format {_FORMAT}")
        content["files"] = tuple(DataFile(**file) for file in content["files"])
        content["removed"] = tuple(RemovedFile(**file) for file in content.pop("removed", ()))
        return Redo(**content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RedoFileError(path=path, reason=f"not as written: {error!r}") from error
