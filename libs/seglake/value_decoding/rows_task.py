"""Rows of `records` from a run's attempts, which a task reads one row group at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.lake.parquet_rows import Within, numbers, read_rows, whole_column
from seglake.storage.storage import Storage

_CHOSEN_BY = ("source_id", "partition", "generation", "offset")


class Attempt(NamedTuple):
    """Rows of a partition from one commit to `records`."""

    topic_id: str | None
    partition: int
    generation: int


RecordOffsets = Mapping[Attempt, frozenset[int]]
"""Offsets of some records, by attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsTask:
    """Rows in a file of `records` that a run decodes.

    Attributes:
        path: path of the file.
        generations: commits of the rows, by partition.
        first_offset, last_offset: lowest and highest offset of these rows.
    """

    storage: Storage
    path: str
    source_id: str
    generations: Mapping[int, frozenset[int]]
    first_offset: int
    last_offset: int

    def rows(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield these columns of the rows, and where the rows are, one row group at a time."""
        import pyarrow.compute as pc  # imported only when needed, since the import takes 0.05 s

        partitions = [*self.generations]
        only = [
            Within("partition", min(partitions), max(partitions)),
            Within("offset", self.first_offset, self.last_offset),
        ]
        for found in read_rows(self.storage, self.path, (*_CHOSEN_BY, *columns), only):
            sources: Any = found.column("source_id").dictionary_encode().unify_dictionaries()
            source = whole_column(sources)
            is_own = pc.equal(source.dictionary, pa.scalar(self.source_id)).take(source.indices)
            of, in_commit = numbers(found, "partition"), numbers(found, "generation")
            chosen = np.zeros(found.num_rows, np.bool_)
            for partition, generations in self.generations.items():
                # `np.isin` sorts and takes several times as long.
                is_new = pc.is_in(pa.array(in_commit), value_set=pa.array([*generations]))
                chosen |= (of == partition) & is_new.to_numpy(zero_copy_only=False)
            yield those(found, chosen & is_own.to_numpy(zero_copy_only=False))


def those(rows: pa.Table, chosen: NDArray[np.bool_]) -> pa.Table:
    """Return the chosen rows; nothing is copied if all are."""
    return rows if chosen.all() else rows.filter(pa.array(chosen))
