"""Lifts the rules that an earlier erasure stored: later runs ingest such records again."""

from collections.abc import Collection, Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.errors import WrongCallError
from seglake.ingest_steps.run_context import RunContext
from seglake.lake.parquet_rows import is_one_of
from seglake.lake.rule_table import ERASURES
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_view import view_of
from seglake.log_tables.begun_erasures import abandon
from seglake.pipelines.lake_erase.file_changes import change_rows
from seglake.pipelines.lake_erase.rewritten_files import Positions, positions_in
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

    def mask_of(rows: pa.Table) -> NDArray[np.bool_]:
        return is_one_of(rows, "run_id", [run_id]) & is_one_of(rows, "topic", topics)

    def search(files: Iterable[StoredFile]) -> dict[str, Positions]:
        columns = ["topic", "run_id"]
        return {f.path: positions_in(run.storage, f.path, columns, mask_of) for f in files}

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
