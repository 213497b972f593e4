"""What runs need of the ledger, kept in a file so that they need not read all of it. Effect.

The table grows by a file for each topic of each run. The digest has its rows folded, and the names
of the data files that they are of. It is believed only while the table has all of these, and can be
deleted at any time.
"""

import contextlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from crc32c import crc32c

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import CHECKPOINTS
from seglake.log_tables.folded_ledger import Row, folded
from seglake.storage.errors import PlaceError

_FILE_NAME = "ledger.digest"
_FILES_KEY = b"seglake.data_files"
_FORMAT_KEY = b"seglake.format"
_FORMAT = b"1"
_CHECKSUM_BYTES = 4
_DUE_AFTER_FILES = 64
_COLUMNS = (
    *("source_id", "topic_id", "topic", "partition", "kind", "start_offset", "next_offset"),
    *("high_watermark", "last_stable_offset", "log_end_offset", "leader_epoch"),
    *("last_batch_base_offset", "last_batch_crc", "isolation", "upper_bound", "attempt_id"),
    "generation",
)
_SCHEMA = pa.schema([CHECKPOINTS.schema.field(name) for name in _COLUMNS])


class _Digest(NamedTuple):
    """Folded rows of all sources, and the names of the data files that they are of."""

    rows: Sequence[Row]
    files: frozenset[str]


_NOTHING = _Digest((), frozenset())


class LedgerDigest:
    """The ledger as runs see it; reads only files that it has not read before."""

    def __init__(self, tables: LakeTables) -> None:
        self._tables = tables
        self._known = _NOTHING
        self._stored = _NOTHING.files

    @property
    def path(self) -> str:
        return self._tables.storage.join(self._tables.work_folder, _FILE_NAME)

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
        paths = {path.rpartition("/")[2]: path for path in self._tables.file_paths(CHECKPOINTS)}
        if not self._known.files or not self._known.files <= paths.keys():
            self._known = self._loaded(paths.keys())
        new = sorted(paths.keys() - self._known.files)
        if new:
            found = self._tables.read_files(CHECKPOINTS, [paths[name] for name in new], _COLUMNS)
            rows = [*self._known.rows, *found.to_pylist()]
            self._known = _Digest(folded(rows), self._known.files.union(new))

    def _loaded(self, names: Iterable[str]) -> _Digest:
        """What is stored, or nothing where that is not of this version's files, or is damaged."""
        self._stored = _NOTHING.files
        try:
            stored = _from_bytes(self._tables.storage.read_bytes(self.path))
        except (PlaceError, pa.ArrowException, OSError, ValueError):
            return _NOTHING
        if not stored.files <= frozenset(names):
            return _NOTHING
        self._stored = stored.files
        return stored


def _to_bytes(digest: _Digest) -> bytes:
    """A Parquet file, behind its checksum: a wrong digest would lose records."""
    files = json.dumps(sorted(digest.files)).encode()
    said: dict[bytes | str, bytes | str] = {_FORMAT_KEY: _FORMAT, _FILES_KEY: files}
    rows = pa.Table.from_pylist([*digest.rows], _SCHEMA.with_metadata(said))
    output = pa.BufferOutputStream()
    pq.write_table(rows, output, compression="zstd")
    content = output.getvalue().to_pybytes()
    return crc32c(content).to_bytes(_CHECKSUM_BYTES) + content


def _from_bytes(content: bytes) -> _Digest:
    """Raises ArrowException, OSError or ValueError where it is none of this format."""
    checksum, content = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
    if crc32c(content).to_bytes(_CHECKSUM_BYTES) != checksum:
        raise ValueError("expected the checksum of what follows")
    file = pq.ParquetFile(pa.BufferReader(content))
    said: dict[bytes, Any] = file.schema_arrow.metadata or {}
    if said.get(_FORMAT_KEY) != _FORMAT or not file.schema_arrow.equals(_SCHEMA):
        raise ValueError("expected a digest of the ledger")
    rows = file.read(use_threads=False).to_pylist()
    return _Digest(rows, frozenset(json.loads(said[_FILES_KEY])))
