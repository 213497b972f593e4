"""Redo files: the files that a commit is about to add to every table, written before it decides.

Effect. If records have a generation that the other tables lack, any driver completes it from this
file, without the source and without decoding. A file is small, is written whole or not at all, and
is deleted once checkpoints are published, or once its commit can no longer happen.

One file is one try to decide: its `commit_id` is in the try's commit info, and in no other.
"""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from seglake.lake.errors import RedoFileError
from seglake.lake.lake_folder import entries_of
from seglake.lake.parquet_files import DataFile
from seglake.storage.errors import NotFoundError
from seglake.storage.storage import Storage

_FORMAT = 1
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class Redo:
    """One try to commit: the generation of each topic, and the files of all tables."""

    source_id: str
    attempt_id: str
    commit_id: str
    run_id: str
    created_at_ms: int
    generations: Mapping[str, int]
    files: tuple[DataFile, ...]

    @property
    def file_name(self) -> str:
        """Return the name of the redo file."""
        return f"{self.attempt_id}.{self.commit_id}{_SUFFIX}"


def write(storage: Storage, folder: str, redo: Redo) -> None:
    """Write the redo file to its folder, durable on return."""
    content = asdict(redo) | {"format": _FORMAT, "files": [file._asdict() for file in redo.files]}
    storage.write_bytes(storage.join(folder, redo.file_name), json.dumps(content).encode())


def delete(storage: Storage, folder: str, redo: Redo) -> None:
    """Delete the redo file, if it exists."""
    storage.delete(storage.join(folder, redo.file_name))


def read_all(storage: Storage, folder: str) -> list[Redo]:
    """Return the redo files of a folder, without those that vanish meanwhile.

    Raises:
        RedoFileError: this library did not write a file as it is.
    """
    redos = []
    for entry in entries_of(storage, folder):
        if entry.name.endswith(_SUFFIX) and not entry.name.startswith("."):
            with contextlib.suppress(NotFoundError):
                redos.append(_parse(entry.path, storage.read_bytes(entry.path)))
    return redos


def _parse(path: str, data: bytes) -> Redo:
    """Return the content of a redo file; raise RedoFileError if it is not as written."""
    try:
        content = json.loads(data)
        if content.pop("format") != _FORMAT:
            raise RedoFileError(path=path, reason=f"expected format {_FORMAT}")
        content["files"] = tuple(DataFile(**file) for file in content["files"])
        return Redo(**content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RedoFileError(path=path, reason=f"not as written: {error!r}") from error
