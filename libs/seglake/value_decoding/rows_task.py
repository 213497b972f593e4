"""Rows of `records` that a task reads, one row group at a time: those of a run's attempts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from seglake.lake.parquet_rows import Within, numbers, read_rows
from seglake.storage.storage import Storage

_COLUMNS = (
    *("source_id", "topic_id", "partition", "offset", "timestamp", "timestamp_ms"),
    *("transaction_state", "headers", "generation", "key", "value"),
)


class Attempt(NamedTuple):
    """A partition's rows of one commit to `records`."""

    topic_id: str | None
    partition: int
    generation: int


RecordOffsets = Mapping[Attempt, frozenset[int]]
"""Offsets of some records, by attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsTask:
    """Rows of a file of `records` that a run decodes.

    Attributes:
        path: path of the file.
        generations: commits of the rows, by partition.
        first_offset, last_offset: all these rows are between them.
    """

    storage: Storage
    path: str
    source_id: str
    generations: Mapping[int, frozenset[int]]
    first_offset: int
    last_offset: int

    def rows(self) -> Iterator[pa.Table]:
        """Yield the rows, one row group at a time."""
        import pyarrow.compute as pc  # imported only when needed, since the import takes 0.05 s

        partitions = [*self.generations]
        only = [
            Within("partition", min(partitions), max(partitions)),
            Within("offset", self.first_offset, self.last_offset),
        ]
        for found in read_rows(self.storage, self.path, _COLUMNS, only):
            sources: Any = found.column("source_id").cast(pa.string())
            own = found.filter(pc.equal(sources, pa.scalar(self.source_id)))
            of, in_commit = numbers(own, "partition"), numbers(own, "generation")
            chosen = np.zeros(own.num_rows, np.bool_)
            for partition, generations in self.generations.items():
                chosen |= (of == partition) & np.isin(in_commit, [*generations])
            yield own.filter(pa.array(chosen))
