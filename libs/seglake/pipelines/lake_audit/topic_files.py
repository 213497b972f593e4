"""Which topics the data files hold. Runs on the driver and in tasks. Effect.

Folders of records and batches carry the topic; gaps and quarantine are not partitioned, so their
files are looked into.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seglake.lake.parquet_rows import numbers, read_rows
from seglake.lake.snapshots import Snapshot
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS
from seglake.pipelines.lake_audit.cells import Interval, TopicFile
from seglake.pipelines.lake_audit.texts import text_values
from seglake.storage.errors import StorageError
from seglake.storage.storage import Storage
from seglake.task_engine.packing import packed

_MOST_FILES = 256

# Columns by which rows are placed: the first offset of a row and its last.
OFFSET_COLUMNS: Mapping[str, tuple[str, str]] = {
    RECORDS.name: ("batch_base_offset", "batch_base_offset"),
    BATCHES.name: ("base_offset", "last_offset"),
    GAPS.name: ("start_offset", "next_offset"),
}


@dataclass(frozen=True, slots=True)
class LookTask:
    """Files of a table that is not partitioned by topic."""

    storage: Storage
    table: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LookReport:
    """What the files hold, by topic; `unreadable` has files that could not be read, and why."""

    files: tuple[tuple[str, TopicFile], ...]
    unreadable: tuple[str, ...]


def files_by_topic(snapshots: Mapping[str, Snapshot]) -> dict[str, list[TopicFile]]:
    """The files of records and batches, as the snapshots have them."""
    found: dict[str, list[TopicFile]] = {}
    for table in (RECORDS, BATCHES):
        first, last = OFFSET_COLUMNS[table.name]
        for file in snapshots[table.name].files:
            topic_file = TopicFile(
                table=table.name,
                path=file.path,
                row_count=file.row_count or 0,
                partitions=file.bounds.get("partition"),
                starts=file.bounds.get(first),
                ends=file.bounds.get(last),
            )
            found.setdefault(file.topic or "", []).append(topic_file)
    return found


def look_tasks(storage: Storage, snapshots: Mapping[str, Snapshot]) -> list[LookTask]:
    """Tasks for the files that must be looked into."""
    tasks: list[LookTask] = []
    for table in (GAPS, QUARANTINE):
        paths = [file.path for file in snapshots[table.name].files]
        packs = packed(paths, lambda path: 1, _MOST_FILES)
        tasks += [LookTask(storage, table.name, tuple(pack)) for pack in packs]
    return tasks


def look(task: LookTask) -> LookReport:
    """Find the topics of some files; the task function."""
    found: list[tuple[str, TopicFile]] = []
    unreadable: list[str] = []
    for path in task.paths:
        try:
            found += _topics_of(task, path).items()
        except StorageError as error:
            unreadable.append(str(error))
    return LookReport(tuple(found), tuple(unreadable))


def _topics_of(task: LookTask, path: str) -> dict[str, TopicFile]:
    offset_columns = OFFSET_COLUMNS.get(task.table, ())
    found: dict[str, TopicFile] = {}
    for rows in read_rows(task.storage, path, ["topic", "partition", *offset_columns]):
        topics, codes = text_values(rows, "topic")
        for code in np.unique(codes):
            topic = topics[code] or ""
            new = _described(task.table, path, rows.filter(pa.array(codes == code)))
            found[topic] = _together(found[topic], new) if topic in found else new
    return found


def _described(table: str, path: str, rows: pa.Table) -> TopicFile:
    placed = TopicFile(table, path, rows.num_rows, _interval(rows, "partition"))
    if table not in OFFSET_COLUMNS:
        return placed
    first, last = OFFSET_COLUMNS[table]
    return placed._replace(starts=_interval(rows, first), ends=_interval(rows, last))


def _interval(rows: pa.Table, column: str) -> Interval:
    values = numbers(rows, column)
    return int(values.min()), int(values.max())


def _together(one: TopicFile, other: TopicFile) -> TopicFile:
    def hull(a: Interval | None, b: Interval | None) -> Interval | None:
        return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))

    return one._replace(
        row_count=one.row_count + other.row_count,
        partitions=hull(one.partitions, other.partitions),
        starts=hull(one.starts, other.starts),
        ends=hull(one.ends, other.ends),
    )
