"""Which files become one, of tables that were never written."""

from random import Random
from typing import cast

import pytest
from deltalake import DeltaTable

from seglake.lake.compaction import TableView
from seglake.lake.snapshots import StoredFile, by_time
from seglake.lake.tables import CHECKPOINTS, OBSERVATIONS, RECORDS, Table
from seglake.pipelines.lake_maintenance.merge_plan import merges_of

_TARGET_BYTES = 100
_NO_HANDLE = cast("DeltaTable", None)  # the plan does not ask it


def _file(
    number: int, size_bytes: int, topic: str | None = None, rows: int | None = 1
) -> StoredFile:
    return StoredFile(
        path=f"{number:04d}",
        log_path=f"{number:04d}",
        topic=topic,
        size_bytes=size_bytes,
        written_at_ms=number,
        row_count=rows,
        bounds={"offset": (number, number)},
    )


def _planned(table: Table, *files: StoredFile) -> list[str]:
    merges = merges_of(TableView(table, _NO_HANDLE, files), _TARGET_BYTES)
    return [f"{merge.topic}:{','.join(f.path[-1] for f in merge.files)}" for merge in merges]


def test_small_files_of_a_topic_become_one_in_the_order_of_offsets() -> None:
    files = [_file(3, 10, "b"), _file(2, 10, "a"), _file(1, 10, "a"), _file(4, 90, "a")]
    assert _planned(RECORDS, *files, _file(5, 10, "b")) == ["a:1,2", "b:3,5"]


def test_what_is_large_alone_or_not_ours_stays() -> None:
    files = [_file(1, 50, "a"), _file(2, 49, "a"), _file(3, 10), _file(4, 10, "a", rows=None)]
    assert _planned(RECORDS, *files) == []


def test_observations_are_merged_with_their_neighbours_in_time_only() -> None:
    files = [_file(n, size) for n, size in enumerate((10, 10, 60, 10, 10, 10))]
    assert _planned(OBSERVATIONS, *files) == [":0,1", ":3,4,5"]
    assert _planned(CHECKPOINTS, *files) == [":0,1,3,4,5"]


@pytest.mark.parametrize("seed", range(20))
def test_newer_observations_never_come_to_lie_in_an_older_file(seed: int) -> None:
    random = Random(seed)
    rows = {f"{n:04d}": [n] for n in range(100)}
    files = [_file(n, random.choice((3, 10, 30, 49, 50, 200))) for n in range(100)]
    random.shuffle(files)
    number = 100
    while merges := merges_of(TableView(OBSERVATIONS, _NO_HANDLE, tuple(files)), _TARGET_BYTES):
        for merge in merges:
            files = [file for file in files if file not in merge.files]
            newest, number = max(file.written_at_ms for file in merge.files), number + 1
            size = max(merge.size_bytes - random.randint(0, 30), 1)  # together they are smaller
            one = _file(number, size)._replace(written_at_ms=newest)
            rows[one.path] = [row for file in merge.files for row in rows[file.path]]
            files.append(one)
    assert [row for file in sorted(files, key=by_time) for row in rows[file.path]] == [*range(100)]
