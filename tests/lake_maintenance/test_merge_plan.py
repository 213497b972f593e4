"""Which files become one, of tables that were never written."""

from random import Random

import pytest

from seglake.lake.snapshots import StoredFile, by_time
from seglake.lake.tables import CHECKPOINTS, OBSERVATIONS, RECORDS, Table
from seglake.pipelines.lake_maintenance.merge_plan import merges_of

_TARGET_BYTES = 100
_DAY_MS = 24 * 3600 * 1000


def _file(
    number: int, size_bytes: int = 10, topic: str | None = None, rows: int | None = 1
) -> StoredFile:
    return StoredFile(
        path=f"{number:04d}",
        log_path=f"{number:04d}",
        topic=topic,
        size_bytes=size_bytes,
        written_at_ms=number,
        row_count=rows,
        bounds={"offset": (number, number)},
        time_bounds_us={},
    )


def _planned(table: Table, *files: StoredFile) -> list[str]:
    merges = merges_of(table, files, _TARGET_BYTES)
    return [f"{merge.topic}:{','.join(f.path[-1] for f in merge.files)}" for merge in merges]


def test_small_files_of_a_topic_become_one_in_the_order_of_offsets() -> None:
    files = [_file(3, 10, "b"), _file(2, 10, "a"), _file(1, 10, "a"), _file(4, 90, "a")]
    assert _planned(RECORDS, *files, _file(5, 10, "b")) == ["a:1,2", "b:3,5"]


def test_what_is_large_alone_or_not_ours_stays() -> None:
    files = [_file(1, 50, "a"), _file(2, 49, "a"), _file(3, 10), _file(4, 10, "a", rows=None)]
    assert _planned(RECORDS, *files) == []


def test_observations_are_merged_with_their_neighbours_in_time_only() -> None:
    few, many = 4_000, 10_000
    rows = (few, few, many, few, few, None, few, few)
    files = [_file(n, rows=count) for n, count in enumerate(rows)]
    newest = _file(9)._replace(written_at_ms=2 * _DAY_MS)
    assert _planned(OBSERVATIONS, *files, newest) == [":0,1", ":3,4", ":6,7"]
    assert _planned(CHECKPOINTS, *files) == [":0,1,2,3,4,6,7"]


def test_a_file_of_observations_stays_small_enough_to_be_read_whole() -> None:
    files = [_file(n, rows=9_000) for n in range(5)]
    newest = _file(9)._replace(written_at_ms=2 * _DAY_MS)
    assert _planned(OBSERVATIONS, *files, newest) == [":0,1", ":2,3"]


def test_observations_of_the_last_day_are_left_so_that_late_ones_find_their_place() -> None:
    files = [_file(n)._replace(written_at_ms=n * _DAY_MS // 2) for n in range(6)]
    assert _planned(OBSERVATIONS, *files) == [":0,1,2"]


@pytest.mark.parametrize("seed", range(20))
def test_newer_observations_never_come_to_lie_in_an_older_file(seed: int) -> None:
    random = Random(seed)
    rows = {f"{n:04d}": [n] for n in range(100)}
    counts = (3, 10, 500, 4_000, 9_999, 10_000, 30_000)
    files = [_file(n, rows=random.choice(counts)) for n in range(100)]
    random.shuffle(files)
    number = 100
    newest_file = _file(_DAY_MS * 2)
    rows[newest_file.path] = [number]
    files.append(newest_file)
    while merges := merges_of(OBSERVATIONS, files, _TARGET_BYTES):
        for merge in merges:
            files = [file for file in files if file not in merge.files]
            newest, number = max(file.written_at_ms for file in merge.files), number + 1
            one = _file(number, rows=merge.row_count)._replace(written_at_ms=newest)
            rows[one.path] = [row for file in merge.files for row in rows[file.path]]
            files.append(one)
    assert [row for file in sorted(files, key=by_time) for row in rows[file.path]] == [*range(101)]
