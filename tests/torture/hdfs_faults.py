"""As `storage_faults`, on HDFS that the campaign starts."""

import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from support.servers.hdfs_cluster import hdfs_cluster
from torture.rows import Row
from torture.storage_faults import drawn
from torture.storage_places import HdfsPlace, Place

_MANY_SMALL_FILES = {
    # Else a file cannot be closed for half a second: until the data node has reported its block.
    "dfs.namenode.file.close.num-committed-allowed": "1",
    # For a block that is never finished, so much space is withheld for twenty minutes.
    "dfs.blocksize": str(1 << 20),
}


def campaign(seconds: float, seed: int) -> Iterator[Row]:
    """Draw points until the time is over or each was met; none where HDFS cannot be started."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with hdfs_cluster(Path(folder), settings=_MANY_SMALL_FILES) as hdfs:
                place = partial(_place, hdfs.uri, hdfs.properties)
                yield from drawn(seconds, seed, place, part="hdfs_faults")
        except pytest.skip.Exception as why:
            print(f"hdfs_faults: not begun: {why}")


def _place(uri: str, properties: Mapping[str, str], folder: Path, number: int) -> Place:
    return HdfsPlace(uri, properties, folder, number)
