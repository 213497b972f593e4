"""Rewrites a data file without some of its rows.

Runs in tasks. A file that loses all rows is not rewritten; a file that loses none stays. The order
of the remaining rows is kept.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.lake.parquet_files import DataFile
from seglake.lake.parquet_rows import Within, columns_of, is_one_of, numbers, read_rows
from seglake.lake.place_columns import place_columns
from seglake.lake.removed_sums import RemovedSums
from seglake.lake.rewritten_files import OldFile, write_again
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_view import TableView
from seglake.lake.tables import GAPS, QUARANTINE, RECORDS, Table

_PAYLOADS = ("key", "value")
_TIME = "timestamp_ms"

_Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChoice:
    """Rows of one partition to remove, by offset.

    Attributes:
        source_id: the cluster.
        topic: the topic; logs of several topics may have no topic id.
        topic_ids: topic ids of the rows; None stands for rows without a topic id.
        partition: the partition.
        ranges: sorted, disjoint ranges of offsets. The deciding offset is a batch's last one, a
            gap's first one, and for damaged bytes the one before them.
        generation: commit that added the rows; None for all.
        kept_cause: cause of gaps that stay; None if no gap stays.
    """

    source_id: str
    topic: str
    topic_ids: tuple[str | None, ...]
    partition: int
    ranges: tuple[tuple[int, int], ...]
    generation: int | None = None
    kept_cause: str | None = None

    def may_be_in(self, file: StoredFile, table: Table) -> bool:
        """Return whether a file may have such rows, according to its statistics."""
        place = place_columns(table)
        least, greatest = file.bounds.get(place.offset, (None, None))
        if table == QUARANTINE:
            least = None  # statistics ignore nulls, and null means the log's start in this column
        return file.may_hold([Within(place.partition, self.partition, self.partition)]) and any(
            (least is None or least < stop) and (greatest is None or greatest >= start)
            for start, stop in self.ranges
        )

    def mask(self, rows: pa.Table, table: Table) -> _Mask:
        """Return which of the rows are to be removed."""
        place = place_columns(table)
        offsets = numbers(rows, place.offset)
        edges = np.array(self.ranges, np.int64).reshape(-1, 2)
        index = np.searchsorted(edges[:, 0], offsets, "right") - 1
        found: _Mask = (index >= 0) & (numbers(rows, place.partition) == self.partition)
        found[found] &= offsets[found] < edges[index[found], 1]
        if self.generation is not None:
            found &= numbers(rows, place.generation) == self.generation
        if self.kept_cause is not None and table == GAPS:
            found &= ~is_one_of(rows, "cause", (self.kept_cause,))
        if found.any():
            found &= is_one_of(rows, place.source_id, (self.source_id,))
            found &= is_one_of(rows, place.topic_id, self.topic_ids)
            found &= not place.topic or is_one_of(rows, place.topic, (self.topic,))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteTask:
    """File to rewrite without the chosen rows.

    Attributes:
        needs_sums: whether to sum up offsets and payloads of the removed rows; files are then read
            completely, even those that lose all rows.
        writes: whether to write the new file; otherwise the rows are only counted.
    """

    old: OldFile
    choices: tuple[RowChoice, ...]
    needs_sums: bool
    writes: bool


class Rewritten(NamedTuple):
    """Result for one file.

    Attributes:
        file: the file that was read.
        replacement: the file with the remaining rows; None if there are none.
        removed: sums of the removed rows of each choice that has any in the file.
        newest_ms: greatest time of the removed rows of each of these choices, in ms since 1970; -1
            if they have no time.
    """

    file: StoredFile
    replacement: DataFile | None
    removed: Mapping[RowChoice, RemovedSums]
    newest_ms: Mapping[RowChoice, int]

    @property
    def is_changed(self) -> bool:
        """Return whether the new file lacks rows that the old one has."""
        return bool(self.removed)


def total_removed(results: Iterable[Rewritten]) -> dict[RowChoice, RemovedSums]:
    """Return the removed rows' sums over all files, for each choice that removed any."""
    total: dict[RowChoice, RemovedSums] = {}
    for each in results:
        for choice, sums in each.removed.items():
            total[choice] = total.get(choice, RemovedSums()).plus(sums)
    return total


def newest_removed(results: Iterable[Rewritten]) -> dict[RowChoice, int]:
    """Return the greatest time of the rows that each choice removed; see `Rewritten`."""
    newest: dict[RowChoice, int] = {}
    for each in results:
        for choice, time_ms in each.newest_ms.items():
            newest[choice] = max(time_ms, newest.get(choice, time_ms))
    return newest


def rewrite_tasks(
    view: TableView,
    choices: Sequence[RowChoice],
    topic: str,
    *,
    compression_level: int,
    needs_sums: Callable[[RowChoice], bool] = lambda choice: False,
    writes: bool = True,
) -> list[RewriteTask]:
    """Return a task for each file of a topic that may have chosen rows, with these choices.

    Args:
        view: the version of the table, with its files.
        choices: the rows to remove.
        topic: the topic; files of unpartitioned tables have none, and are all examined.
        compression_level: zstd level of new files.
        needs_sums: returns whether the sums over a choice's rows are needed.
        writes: see `RewriteTask`.
    """
    found = []
    for file in view.files:
        own = tuple(choice for choice in choices if choice.may_be_in(file, view.table))
        if own and file.topic in (topic, None):
            found.append(
                RewriteTask(
                    old=OldFile.of(view.tables, view.table, file, compression_level),
                    choices=own,
                    needs_sums=any(map(needs_sums, own)),
                    writes=writes,
                )
            )
    return found


def rewrite(task: RewriteTask) -> Rewritten:
    """Write the file without the chosen rows, and return it, without deleting the old file.

    Raises:
        RowCountError: the file has another number of rows than Delta's log states.
        StorageError: the file cannot be read.
        OutputError: the new file cannot be written.
    """
    found, row_count = _counted(task)
    counts = [count for count, _ in found]
    lost = sum(counts)
    task.old.check_count(row_count)
    is_only_counted = not task.writes or lost == row_count
    if lost == 0 or (is_only_counted and not task.needs_sums):
        return _done(task, None, [RemovedSums(count) for count in counts], found)
    sums = [RemovedSums() for _ in task.choices]
    schema = columns_of(task.old.storage, task.old.file.path)
    kept = _kept(task, schema, sums)
    if not task.writes:
        for _ in kept:
            pass
        return _done(task, None, sums, found)
    return _done(task, write_again(task.old, schema, kept, lost=lost), sums, found)


class _Count(NamedTuple):
    """Number of rows of a choice, and their greatest time; -1 if they have none."""

    rows: int = 0
    newest_ms: int = -1


def _done(
    task: RewriteTask,
    replacement: DataFile | None,
    sums: Iterable[RemovedSums],
    counts: Iterable[_Count],
) -> Rewritten:
    """Return the result of a task that rewrites a file."""
    removed = {
        choice: each for choice, each in zip(task.choices, sums, strict=True) if each.records
    }
    times = zip(task.choices, counts, strict=True)
    newest_ms = {choice: each.newest_ms for choice, each in times if choice in removed}
    return Rewritten(task.old.file, replacement, removed, newest_ms)


def _counted(task: RewriteTask) -> tuple[list[_Count], int]:
    """Return the count of each choice, and the number of all rows, from few columns."""
    table = task.old.table
    columns = [n for n in place_columns(table).names() if n in table.file_schema.names]
    if table == GAPS:
        columns.append("cause")
    if table == RECORDS:
        columns.append(_TIME)
    counts, row_count = [_Count() for _ in task.choices], 0
    for rows in read_rows(task.old.storage, task.old.file.path, columns):
        row_count += rows.num_rows
        for index, mask in enumerate(_masks(task, rows)):
            if mask.any():
                times = numbers(rows, _TIME)[mask] if table == RECORDS else np.full(1, -1)
                before = counts[index]
                newest_ms = max(int(times.max()), before.newest_ms)
                counts[index] = _Count(before.rows + int(mask.sum()), newest_ms)
    return counts, row_count


def _kept(task: RewriteTask, schema: pa.Schema, sums: list[RemovedSums]) -> Iterator[pa.Table]:
    """Yield the rows to keep, a row group at a time, and add the removed rows to the sums."""
    for rows in read_rows(task.old.storage, task.old.file.path, schema.names):
        group = rows.select(schema.names).cast(schema)
        is_kept = np.ones(group.num_rows, np.bool_)
        for index, mask in enumerate(_masks(task, rows)):
            if mask.any():
                is_kept &= ~mask
                sums[index] = _added(sums[index], group.filter(pa.array(mask)), task)
        if is_kept.any():
            yield group if is_kept.all() else group.filter(pa.array(is_kept))


def _masks(task: RewriteTask, rows: pa.Table) -> Iterator[_Mask]:
    """Yield the chosen rows of each choice; a row in several choices belongs to the first one."""
    is_free = np.ones(rows.num_rows, np.bool_)
    for choice in task.choices:
        mask = choice.mask(rows, task.old.table) & is_free
        is_free &= ~mask
        yield mask


def _added(sums: RemovedSums, rows: pa.Table, task: RewriteTask) -> RemovedSums:
    """Return the sums with further removed rows added."""
    if not task.needs_sums:
        return sums._replace(records=sums.records + rows.num_rows)
    sizes = [_payload_bytes(rows, name) for name in _PAYLOADS]
    # Python integers: a sum of offsets may exceed an int64
    offset_sum = sum(numbers(rows, place_columns(task.old.table).offset).tolist())
    added = RemovedSums(rows.num_rows, offset_sum, *sizes)
    return sums.plus(added)


def _payload_bytes(rows: pa.Table, column: str) -> int:
    """Return the total size of a column's values in bytes."""
    import pyarrow.compute as pc  # imported only when needed, since the import takes 0.05 s

    total: int | None = pc.sum(pc.binary_length(rows.column(column))).as_py()
    return total or 0
