"""What runs need of the ledger, kept in a file so that they need not read all of it. Effect.

The table grows by a file for each topic of each run. The digest has its rows folded, and the names
of the data files that they are of. It is believed only while the table has all of these, and can be
deleted at any time.
"""

import contextlib
import gzip
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import CHECKPOINTS
from seglake.log_tables.folded_ledger import Row, folded
from seglake.storage.errors import PlaceError

_FILE_NAME = "ledger.json.gz"
_FORMAT = 1
_DUE_AFTER_FILES = 64
_DAMAGED = (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError)
_COLUMNS = (
    *("source_id", "topic_id", "topic", "partition", "kind", "start_offset", "next_offset"),
    *("high_watermark", "last_stable_offset", "log_end_offset", "leader_epoch"),
    *("last_batch_base_offset", "last_batch_crc", "isolation", "upper_bound", "attempt_id"),
    "generation",
)


class _Digest(NamedTuple):
    """Folded rows of all sources, and the names of the data files that they are of."""

    rows: Sequence[Row]
    files: frozenset[str]


_NOTHING = _Digest((), frozenset())


class LedgerDigest:
    """The ledger as runs see it; reads only files that it has not read before."""

    def __init__(self, tables: LakeTables) -> None:
        self._tables = tables
        self.path = tables.storage.join(tables.work_folder, _FILE_NAME)
        self._known = _NOTHING
        self._stored = _NOTHING.files
        self._as_of: tuple[object, int] | None = None  # the table's handle, and its version

    def rows(self, source_id: str) -> list[Row]:
        """Of the newest version, folded: what a `Coverage` asks for. In no order.

        Raises:
            StorageError: a data file of the ledger cannot be read.
        """
        self.read()
        return [row for row in self._known.rows if row["source_id"] == source_id]

    def store(self, *, if_due: bool) -> None:
        """Put what was read into the lake, for the runs to come.

        That it cannot be written is no failure: they read the ledger itself.

        Args:
            if_due: only where enough files came since it was stored last.
        """
        new = self._known.files ^ self._stored
        if not new or (if_due and len(new) < _DUE_AFTER_FILES):
            return
        with contextlib.suppress(PlaceError):
            self._tables.storage.write_bytes(self.path, _to_bytes(self._known))
            self._stored = self._known.files

    def read(self) -> None:
        """Bring it up to the newest version of the ledger.

        Raises:
            StorageError: a data file of the ledger cannot be read.
        """
        handle = self._tables.newest(CHECKPOINTS)
        if self._as_of == (handle, handle.version()):
            return
        paths = {path.rpartition("/")[2]: path for path in self._tables.file_paths(CHECKPOINTS)}
        if not self._known.files <= paths.keys():
            self._known = _NOTHING
        if paths and not self._known.files:
            self._known = self._loaded(paths.keys())
        new = sorted(paths.keys() - self._known.files)
        if new:
            found = self._tables.read_files(CHECKPOINTS, [paths[name] for name in new], _COLUMNS)
            rows = [*self._known.rows, *found.to_pylist()]
            self._known = _Digest(folded(rows), self._known.files.union(new))
        self._as_of = handle, handle.version()

    def _loaded(self, names: Iterable[str]) -> _Digest:
        """What is stored, or nothing where that is not of this version's files, or is damaged."""
        self._stored = _NOTHING.files
        try:
            stored = _from_bytes(self._tables.storage.read_bytes(self.path))
        except (PlaceError, *_DAMAGED):
            return _NOTHING
        if not stored.files <= frozenset(names):
            return _NOTHING
        self._stored = stored.files
        return stored


def _to_bytes(digest: _Digest) -> bytes:
    """As JSON within gzip, whose checksum sees to it that no damaged one is believed."""
    content = {
        "format": _FORMAT,
        "files": sorted(digest.files),
        "columns": _COLUMNS,
        "rows": [[row[name] for name in _COLUMNS] for row in digest.rows],
    }
    return gzip.compress(json.dumps(content).encode(), compresslevel=1, mtime=0)


def _from_bytes(data: bytes) -> _Digest:
    """Nothing where it is of another version; raises one of `_DAMAGED` where it is no digest."""
    content = json.loads(gzip.decompress(data))
    if (content["format"], content["columns"]) != (_FORMAT, [*_COLUMNS]):
        return _NOTHING
    rows = [dict(zip(_COLUMNS, row, strict=True)) for row in content["rows"]]
    return _Digest(rows, frozenset(content["files"]))
