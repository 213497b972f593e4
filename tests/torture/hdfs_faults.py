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

_SMALL_BLOCKS = {"dfs.blocksize": str(1 << 20)}  # of each unfinished one the space is withheld


def campaign(seconds: float, seed: int) -> Iterator[Row]:
    """Draw points until the time is over or each was met; none where HDFS cannot be started."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            # With two replicas a file is closed once the first is reported: in 7 ms, not in 500.
            with hdfs_cluster(
                Path(folder), data_node_count=2, replication=2, settings=_SMALL_BLOCKS
            ) as hdfs:
                place = partial(_place, hdfs.uri, hdfs.properties)
                yield from drawn(seconds, seed, place, part="hdfs_faults")
        except pytest.skip.Exception as why:
            print(f"hdfs_faults: not begun: {why}")


def _place(uri: str, properties: Mapping[str, str], folder: Path, number: int) -> Place:
    return HdfsPlace(uri, properties, folder, number)
