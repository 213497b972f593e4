"""Merging files whose rows interleave: all rows, each once, in the order of offsets."""

from random import Random

import pyarrow.parquet as pq
import pytest

from seglake.lake.merged_files import MergeTask, merge
from seglake.lake.parquet_files import ParquetFile
from seglake.lake.tables import RECORDS
from support.lake_rows import Lake, rows

_Places = list[tuple[int, int]]


@pytest.mark.parametrize("sources", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_rows_of_any_files_come_in_the_order_of_offsets(
    lake: Lake, seed: int, sources: int
) -> None:
    random = Random(seed)
    places = [
        (partition, offset)
        for partition in range(3)
        for offset in range(40)
        for _ in range(sources)  # clusters that share a topic share its offsets
    ]
    parts: list[_Places] = [[] for _ in range(random.randint(2, 6))]
    for place in places:
        random.choice(parts).append(place)
    paths = [_written(lake, part, random.randint(1, 9)) for part in parts if part]
    random.shuffle(paths)
    task = MergeTask(
        storage=lake.storage,
        lake_path=lake.tables.lake_path,
        table=RECORDS,
        topic="orders",
        paths=tuple(paths),
        row_count=len(places),
        compression_level=1,
    )
    merged = pq.ParquetFile(lake.path / "records" / merge(task).path).read()
    found = zip(*(merged.column(name).to_pylist() for name in ("partition", "offset")), strict=True)
    assert [*found] == places


def _written(lake: Lake, places: _Places, group_rows: int) -> str:
    """A file with so many rows in a row group."""
    with ParquetFile(lake.storage, lake.tables.lake_path, RECORDS, "orders") as file:
        for start in range(0, len(places), group_rows):
            group = places[start : start + group_rows]
            partitions, offsets = ([*numbers] for numbers in zip(*group, strict=True))
            file.write(
                rows(RECORDS, "orders", range(len(group)), partition=partitions, offset=offsets)
            )
        done = file.close()
    assert done is not None
    return str(lake.path / "records" / done.path)
