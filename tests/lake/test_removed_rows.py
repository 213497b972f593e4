"""Files written again without some of their rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seglake.lake.errors import RowCountError
from seglake.lake.removed_rows import Rewritten, RowChoice, rewrite, rewrite_tasks
from seglake.lake.removed_sums import RemovedSums
from seglake.lake.table_view import view_of
from seglake.lake.tables import BATCHES, CONSUMER_OFFSETS, QUARANTINE, RECORDS, Table
from seglake.lake.waves import TopicWave
from support.lake_drivers import commit
from support.lake_rows import SOURCE, Lake, rows, write_file

_ALL = ((-1, 1 << 62),)


# Any: values of columns of many types.
def _choice(*ranges: tuple[int, int], **changed: Any) -> RowChoice:
    choice = RowChoice(source_id=SOURCE, topic="t", topic_ids=("id",), partition=2, ranges=ranges)
    return replace(choice, **changed)


def _lake_of(lake: Lake, table: Table, *files: Sequence[pa.RecordBatch], topic: str = "t") -> None:
    """Commit files of one topic; each batch of a file is a row group."""
    written = tuple(write_file(lake, table, topic, *groups) for groups in files)
    commit(lake, TopicWave(topic, 1, written))


def _rows(table: Table, offsets: range, **changed: object) -> pa.RecordBatch:
    ids = dict.fromkeys(("topic_id", "record_topic_id"), "id")
    return rows(table, "t", offsets, source_id=SOURCE, generation=1, **(ids | changed))


def _rewritten(
    lake: Lake, table: Table, *choices: RowChoice, topic: str = "t", needs_sums: bool = False
) -> list[Rewritten]:
    tasks = rewrite_tasks(
        view_of(lake.tables, table),
        choices,
        topic,
        compression_level=1,
        needs_sums=lambda choice: needs_sums,
    )
    return [rewrite(task) for task in tasks]


def _kept(lake: Lake, table: Table, done: Rewritten, column: str = "offset") -> list[object]:
    if done.replacement is None:
        return []
    path = lake.path / table.name / done.replacement.path
    return list(pq.ParquetFile(path).read().column(column).to_pylist())


def test_only_files_with_chosen_offsets_are_read_and_only_those_with_rows_change(
    lake: Lake,
) -> None:
    groups = [_rows(RECORDS, range(5)), _rows(RECORDS, range(5, 9))]
    other = [_rows(RECORDS, range(20, 30))]
    holes = [_rows(RECORDS, range(2, 3)), _rows(RECORDS, range(8, 9))]
    _lake_of(lake, RECORDS, groups, other, holes)
    choice = _choice((3, 4), (6, 8))
    done = {len(_kept(lake, RECORDS, each)): each for each in _rewritten(lake, RECORDS, choice)}
    assert sorted(done) == [0, 6]
    assert (done[0].is_changed, done[6].is_changed) == (False, True)
    assert _kept(lake, RECORDS, done[6]) == [0, 1, 2, 4, 5, 8]
    assert done[6].removed == {choice: RemovedSums(records=3)}


def test_sums_of_removed_rows_are_exact_for_each_choice(lake: Lake) -> None:
    keys = [b"k", None, b"kkk", b""]
    _lake_of(lake, RECORDS, [_rows(RECORDS, range(1 << 30, (1 << 30) + 4), key=keys)])
    start = 1 << 30
    first, second = _choice((start, start + 1)), _choice((start + 1, start + 4))
    [done] = _rewritten(lake, RECORDS, first, second, needs_sums=True)
    value_bytes = len(b"t-%d" % start)
    assert done.removed == {
        first: RemovedSums(1, start, 1, value_bytes),
        second: RemovedSums(3, 3 * start + 6, 3, 3 * value_bytes),
    }
    assert done.replacement is None


@pytest.mark.parametrize(
    "other",
    [
        {"source_id": "another"},
        {"topic_ids": (None,)},
        {"topic_ids": ("id-2",)},
        {"partition": 1},
        {"generation": 2},
    ],
    ids=lambda other: "-".join(map(str, other)),
)
def test_rows_of_another_log_or_commit_stay(lake: Lake, other: dict[str, object]) -> None:
    _lake_of(lake, RECORDS, [_rows(RECORDS, range(5))])
    assert [
        each for each in _rewritten(lake, RECORDS, _choice(*_ALL, **other)) if each.is_changed
    ] == []
    [done] = _rewritten(lake, RECORDS, _choice(*_ALL, **other), _choice((1, 5), generation=1))
    assert _kept(lake, RECORDS, done) == [0]
    assert [sums.records for sums in done.removed.values()] == [4]


def test_rows_without_a_topic_id_are_chosen_by_none(lake: Lake) -> None:
    ids = ["id", None, "id-2", None]
    _lake_of(lake, RECORDS, [_rows(RECORDS, range(4), topic_id=ids)])
    [done] = _rewritten(lake, RECORDS, _choice(*_ALL, topic_ids=("id", None)))
    assert _kept(lake, RECORDS, done) == [2]


def test_batches_count_by_their_last_offset(lake: Lake) -> None:
    lasts = [4, 9, 14]
    _lake_of(lake, BATCHES, [_rows(BATCHES, range(3), last_offset=lasts)])
    [done] = _rewritten(lake, BATCHES, _choice((-1, 9)))
    assert _kept(lake, BATCHES, done, "last_offset") == [9, 14]


def test_damaged_bytes_at_the_log_s_start_count_by_minus_1(lake: Lake) -> None:
    previous = [None, 3, 8]
    _lake_of(lake, QUARANTINE, [_rows(QUARANTINE, range(3), previous_offset=previous)])
    [done] = _rewritten(lake, QUARANTINE, _choice((-1, 0)))
    assert _kept(lake, QUARANTINE, done, "previous_offset") == [3, 8]


def test_rows_decoded_from_records_count_by_the_record(lake: Lake) -> None:
    topic = "__consumer_offsets"
    batch = _rows(CONSUMER_OFFSETS, range(5), record_partition=[1, 2, 2, 2, 2])
    _lake_of(lake, CONSUMER_OFFSETS, [batch], topic=topic)
    [done] = _rewritten(lake, CONSUMER_OFFSETS, _choice((0, 3)), topic=topic)
    assert _kept(lake, CONSUMER_OFFSETS, done, "record_offset") == [0, 3, 4]


def test_file_with_fewer_rows_than_the_log_says_is_refused(lake: Lake) -> None:
    _lake_of(lake, RECORDS, [_rows(RECORDS, range(5))])
    [task] = rewrite_tasks(
        view_of(lake.tables, RECORDS),
        [_choice((0, 3))],
        "t",
        compression_level=1,
    )
    few = write_file(lake, RECORDS, "t", _rows(RECORDS, range(4)))
    path = lake.path / "records" / few.path
    path.replace(task.old.file.path)
    with pytest.raises(RowCountError, match="4"):
        rewrite(task)
