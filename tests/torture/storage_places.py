"""Where the scenes of `storage_faults` are played: on a local disk, on S3, on HDFS.

Each place has one folder for one run at a time, and shows past the product what lies there.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hdfs_native import Client

from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Storage
from seglake.storage.storages import Storages
from support.hdfs_runs import fetched, put
from support.servers.s3_server import S3Server
from torture.storage_scenes import copied

_BUCKET, _WORK = "faults", "work"


class Place(Protocol):
    """Where runs work. Some of their answers name it, so it is always the same."""

    def storage(self) -> Storage: ...

    def laid_out(self, base: Path) -> str:
        """Put a copy of a local folder there, over what is there; where that is, for a run."""

    def found(self) -> Path:
        """What is there now, as a local folder that nobody writes to."""


@dataclass(frozen=True)
class LocalPlace:
    """A folder in a local one."""

    folder: Path

    def storage(self) -> Storage:
        return LocalStorage()

    def laid_out(self, base: Path) -> str:
        return str(copied(base, self.found()))

    def found(self) -> Path:
        return self.folder / _WORK


@dataclass(frozen=True)
class S3Place:
    """A bucket of a server whose objects are local files, for one process."""

    server: S3Server
    number: int

    def storage(self) -> Storage:
        return Storages(self.server.properties())

    def laid_out(self, base: Path) -> str:
        copied(base, self.found())
        return f"s3://{self._bucket}/{_WORK}"

    def found(self) -> Path:
        return self.server.make_bucket(self._bucket) / _WORK

    @property
    def _bucket(self) -> str:
        return f"{_BUCKET}-{self.number}"


@dataclass(frozen=True)
class HdfsPlace:
    """A folder on HDFS, of which there is a copy in a local one.

    Attributes:
        uri: of the name node.
        properties: what a client of it must know.
    """

    uri: str
    properties: Mapping[str, str]
    folder: Path
    number: int

    def storage(self) -> Storage:
        return Storages(HadoopProperties(self.properties))

    def laid_out(self, base: Path) -> str:
        Client(self.uri).delete(self._path, recursive=True)
        put(base, self, self._path)
        return f"{self.uri}{self._path}"

    def found(self) -> Path:
        copy = self.folder / _WORK
        shutil.rmtree(copy, ignore_errors=True)
        return fetched(self, self._path, copy)

    @property
    def _path(self) -> str:
        return f"/{_BUCKET}-{self.number}/{_WORK}"
