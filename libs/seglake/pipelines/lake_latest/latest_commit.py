"""Commits the newest records of a topic's keys to its table, in one commit.

Like Delta's MERGE, it writes anew the files in which a row changes, together with the new rows. The
files come as streams, so the memory does not grow with the table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from seglake.lake.app_versions import app_id
from seglake.lake.commit_tries import CommitTries
from seglake.lake.delta_tables import LakeTables
from seglake.lake.latest_tables import FENCE_APP
from seglake.lake.parquet_files import DataFile, ParquetFile, row_groups
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_commit import Addition, Removal, add_files, sync_files
from seglake.lake.table_view import TableView
from seglake.pipelines.lake_latest.latest_plan import LatestWork
from seglake.pipelines.lake_latest.latest_rows import ChangeCounts, LatestRows
from seglake.settings.settings import WriteSettings

_GROUP_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestCommit:
    """Commit of newest records to the table of their topic.

    Attributes:
        work: the topic.
        rows: the newest records.
        fence: generation of `FENCE_APP` before the records were read.
        write: settings of data files.
        commit_info: keys and values for the commit's info.
        after: called with "files" before each try to commit.
    """

    tables: LakeTables
    work: LatestWork
    rows: LatestRows
    fence: int
    write: WriteSettings
    commit_info: Mapping[str, str]
    after: Callable[[str], None]

    def run(self) -> ChangeCounts | None:
        """Commit the records; return None if another run was faster.

        Raises:
            CommitUnknownError: a commit failed, but may have happened.
        """
        tables, work = self.tables, self.work
        table = work.latest.table
        app = app_id(work.source_id, work.topic)
        counts = ChangeCounts(0, 0, 0)
        tries = CommitTries(tables, lambda: table)
        for view in tries:
            found = view.generation(app)
            if found != work.applied:
                # After a failure, this generation comes from this commit, or from one with the
                # same rows.
                return counts if tries.failure and found == work.published else None
            if view.generation(FENCE_APP) != self.fence:
                return None  # an erasure may have removed records that this run has read
            counts, names = self.rows.match([file.path for file in view.files])
            replaced = [file for file in view.files if file.removed.name in names]
            files = [*self._written(self.rows.merged([file.path for file in replaced]))]
            self.after("files")
            # If the commit only adds files, the fence's generation makes it fail beside an erasure.
            generations = {app: work.published, FENCE_APP: self.fence}
            tries.failure = self._failure(view, replaced, files, generations)
        return counts

    def _failure(
        self,
        view: TableView,
        replaced: Iterable[StoredFile],
        files: Sequence[DataFile],
        generations: Mapping[str, int],
    ) -> str:
        """Commit new files in place of old ones, and return why that failed, or ""."""
        sync_files(view.tables, view.table, (file.path for file in files))
        return add_files(
            view,
            [Addition(file) for file in files],
            commit_info=self.commit_info,
            generations=generations,
            removals=[Removal(file.removed, loses_rows=True) for file in replaced],
        )

    def _written(self, rows: Iterable[pa.RecordBatch]) -> Iterator[DataFile]:
        """Write rows to data files, and yield each finished file."""
        table, tables, write = self.work.latest.table, self.tables, self.write
        pieces = (pa.Table.from_batches([batch.cast(table.schema)]) for batch in rows)
        groups = row_groups(pieces, _GROUP_BYTES)
        group = next(groups, None)
        while group is not None:
            with ParquetFile(
                tables.storage, tables.lake_path, table, self.work.topic, write.compression_level
            ) as file:
                while group is not None and file.written_bytes < write.target_file_bytes:
                    file.write(group)
                    group = next(groups, None)
                done = file.close()
            if done is not None:
                yield done
