"""Lifts the rules that an earlier erasure stored: later runs ingest such records again."""

from collections.abc import Collection, Iterable

import numpy as np

from seglake.errors import WrongCallError
from seglake.ingest_steps.run_context import RunContext
from seglake.lake.parquet_rows import plain_texts, read_rows
from seglake.lake.rule_table import ERASURES
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_view import view_of
from seglake.log_tables.begun_erasures import abandon
from seglake.pipelines.lake_erase.file_changes import change_rows
from seglake.pipelines.lake_erase.rewritten_files import FoundRows
from seglake.pipelines.lake_erase.rule_rows import APP


def lift(run: RunContext, topics: Collection[str], run_id: str) -> int:
    """Remove the rules that a run of `erase` stored for some topics; return their number.

    If that run was killed, the audit names it no more. No record comes back by this alone.

    Args:
        run: the run; a dry run only counts.
        topics: the topics.
        run_id: label of the run that stored the rules.

    Raises:
        WrongCallError: that run stored no rule for these topics, and did not die in an erasure.
    """

    def search(files: Iterable[StoredFile]) -> dict[str, FoundRows]:
        return {file.path: _rows_of(run, file, topics, run_id) for file in files}

    tables = run.tables
    files = view_of(tables, ERASURES).files if tables.has(ERASURES) else ()
    is_there = any(len(rows) for rows in search(files).values())
    if not is_there and not abandon(tables, run_id, topics, dry_run=True):
        raise WrongCallError(
            f"no erasure of these topics has the run id {run_id}: the table erasures has them, as"
            " does seglake report"
        )
    lifted = change_rows(run, ERASURES, search, fences=[APP]).rows if is_there else 0
    abandon(tables, run_id, topics, dry_run=run.is_dry_run)
    return lifted


def _rows_of(run: RunContext, file: StoredFile, topics: Collection[str], run_id: str) -> FoundRows:
    """Return the positions of a run's rules for some topics in a file of `erasures`."""
    found: list[int] = []
    first = 0
    for rows in read_rows(run.storage, file.path, ["topic", "run_id"]):
        for index, row in enumerate(plain_texts(rows).to_pylist(), start=first):
            if row["run_id"] == run_id and row["topic"] in topics:
                found.append(index)
        first += rows.num_rows
    return np.array(found, np.int64)
