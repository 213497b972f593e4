"""Redo files: what a commit is about to add to every table, written before it decides. Effect.

Whoever finds that records have a generation which the other tables lack completes it from here,
without the source and without decoding. A file is small, is written whole or not at all, and is
deleted when checkpoints are published, or when its commit can no longer happen.

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
    """One try: the generation it makes of each topic, and its files of all tables."""

    source_id: str
    attempt_id: str
    commit_id: str
    run_id: str
    created_at_ms: int
    generations: Mapping[str, int]
    files: tuple[DataFile, ...]

    @property
    def file_name(self) -> str:
        return f"{self.attempt_id}.{self.commit_id}{_SUFFIX}"


def write(storage: Storage, folder: str, redo: Redo) -> None:
    """Put the redo file in its folder, durable on return."""
    content = asdict(redo) | {"format": _FORMAT, "files": [file._asdict() for file in redo.files]}
    storage.write_bytes(storage.join(folder, redo.file_name), json.dumps(content).encode())


def delete(storage: Storage, folder: str, redo: Redo) -> None:
    """Delete the redo file, if nobody has done so."""
    storage.delete(storage.join(folder, redo.file_name))


def read_all(storage: Storage, folder: str) -> list[Redo]:
    """Return the redo files of a folder; those that vanish meanwhile are left out.

    Raises:
        RedoFileError: a file there is none of ours.
    """
    redos = []
    for entry in entries_of(storage, folder):
        if entry.name.endswith(_SUFFIX) and not entry.name.startswith("."):
            with contextlib.suppress(NotFoundError):
                redos.append(_parse(entry.path, storage.read_bytes(entry.path)))
    return redos


def _parse(path: str, data: bytes) -> Redo:
    try:
        content = json.loads(data)
        if content.pop("format") != _FORMAT:
            raise RedoFileError(path=path, reason=f"expected format {_FORMAT}")
        content["files"] = tuple(DataFile(**file) for file in content["files"])
        return Redo(**content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RedoFileError(path=path, reason=f"not as written: {error!r}") from error
