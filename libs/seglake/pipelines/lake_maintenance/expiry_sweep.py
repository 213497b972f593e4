"""Removes expired rows from all tables except `records`, and sums them up for the ledger.

A sweep only removes rows that no view and no run reads any longer, so it takes no part in topics'
commits. It may die at any point: the next maintenance sweeps again.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.compaction import Replacement, commit_replacements
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import CommitUnknownError
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.parquet_rows import NULL_NUMBER
from seglake.lake.removed_rows import Rewritten, RowChoice, rewrite, rewrite_tasks, total_removed
from seglake.lake.table_changes import allow_removals
from seglake.lake.table_view import TableView, view_of
from seglake.lake.tables import (
    BATCHES,
    GAPS,
    QUARANTINE,
    REQUIRED_TABLES,
    SALVAGED_RECORDS,
    TABLES,
    Table,
)
from seglake.lake.typed_tables import typed_tables
from seglake.lake.value_tables import VALUE_REJECTS
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.log_tables.quarantine_rows import IDENTITY
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.lake_maintenance.expiry_plan import BatchSums, PartitionExpiry, topic_ids_of
from seglake.segment_codec.formats.errors import DefectCode

_MOST_TRIES = 20


def batch_sums(plan: PartitionExpiry, context: RunContext) -> list[BatchSums]:
    """Return the batches of each part of an expiry; the first part includes all damaged spans."""
    columns = ("topic_id", "partition", "last_offset", "size_bytes", "generation")
    pruned = [("last_offset", ">=", plan.offsets[0]), ("base_offset", "<", plan.offsets[1])]
    rows = _rows(BATCHES, columns, plan.log, context, pruned)
    found = []
    for part in plan.parts:
        start, stop = part.offsets
        own = [
            row["size_bytes"] or 0
            for row in rows
            if row["generation"] == part.choice.generation and start <= row["last_offset"] < stop
        ]
        found.append(BatchSums(len(own), sum(own)))
    spans, size_bytes = _damage(plan, context)
    first = found[0]
    return [BatchSums(first.batches, first.bytes + size_bytes, spans), *found[1:]]


def _damage(plan: PartitionExpiry, context: RunContext) -> tuple[int, int]:
    """Return number and bytes of the damaged spans that expire, as the proof counts them."""
    columns = ("topic_id", "topic", "partition", "previous_offset", "length_bytes", "defect_code")
    counts: dict[tuple[object, ...], list[int]] = {}
    for row in _rows(QUARANTINE, (*columns, "resolution", *IDENTITY), plan.log, context):
        place = 0 if row["previous_offset"] is None else row["previous_offset"] + 1
        is_conflict = row["defect_code"] == DefectCode.REPLICA_CONFLICT
        if is_conflict or not plan.offsets[0] <= place < plan.offsets[1]:
            continue
        seen = counts.setdefault(tuple(row[name] for name in IDENTITY), [0, 0])
        seen[0] += row["resolution"] is None
        seen[1] = max(seen[1], row["length_bytes"] or 0)
    spans = [(max(found, 1), size) for found, size in counts.values()]
    return sum(found for found, _ in spans), sum(found * size for found, size in spans)


# Any: columns have values of many types.
def _rows(
    table: Table,
    columns: Sequence[str],
    log: PartitionLedger,
    context: RunContext,
    pruned_by: Sequence[tuple[str, str, int]] = (),
) -> list[dict[str, Any]]:
    """Return a partition's rows of a table; they may include rows that `pruned_by` excludes."""
    pruned = [("partition", "=", log.key.partition), *pruned_by]
    tables = context.tables
    topic = log.key.topic if table.partition_by else None
    rows = tables.rows(table, context.source_id, columns, topic=topic, pruned_by=pruned)
    return [row for row in rows.to_pylist() if log.owns(row)]


def sweep(
    topic: str, ledger: SourceLedger, context: RunContext, borders: Mapping[PartitionKey, int]
) -> Counter[str]:
    """Remove a topic's expired rows from all tables besides `records`; return their numbers.

    A dry run only counts them.

    Args:
        topic: the topic.
        ledger: the newest ledger of the source.
        context: the run.
        borders: starts of partitions that a dry run would commit.

    Raises:
        CommitUnknownError: other runs kept committing first, or a commit failed.
    """
    logs = [ledger.of(key) for key in ledger.partitions() if key.topic == topic]
    starts = [(log, max(log.expired_to, borders.get(log.key, 0))) for log in logs]
    choices = [_choice(log, context.source_id, start) for log, start in starts if start]
    swept: Counter[str] = Counter()
    if not choices:
        return swept
    # sweep quarantine after the rows decoded from its bytes
    decoded = _decoded(topic, context.tables)
    for table in (*decoded, SALVAGED_RECORDS, QUARANTINE, BATCHES, GAPS):
        if table in REQUIRED_TABLES or context.tables.has(table):
            swept[table.name] = _sweep(
                table, topic, [_of_table(each, table) for each in choices], context
            )
    return +swept


def _choice(log: PartitionLedger, source_id: str, start: int) -> RowChoice:
    """Return a choice of all rows of a partition below its start."""
    return RowChoice(
        source_id=source_id,
        topic=log.key.topic,
        topic_ids=topic_ids_of(log),
        partition=log.key.partition,
        ranges=((0, start),),
        kept_cause=GapCause.EXPIRED,
    )


def _of_table(choice: RowChoice, table: Table) -> RowChoice:
    """Return the choice for one table; damaged bytes are located by the offset before them."""
    if table != QUARANTINE:
        return choice
    return replace(choice, ranges=((NULL_NUMBER, choice.ranges[0][1] - 1),))


def _decoded(topic: str, tables: LakeTables) -> list[Table]:
    """Return the tables with rows decoded from a topic's records."""
    internal = [table for table in TABLES if table.topics and table.serves(topic)]
    typed = [each.table for each in typed_tables(tables) if each.table.serves(topic)]
    return [*internal, *typed, VALUE_REJECTS]


def _sweep(table: Table, topic: str, choices: Sequence[RowChoice], context: RunContext) -> int:
    """Remove rows from one table, in one commit, and return their number.

    If other runs commit first, it plans again.
    """
    tables, failure = context.tables, ""
    for _ in range(_MOST_TRIES):
        writes = not context.is_dry_run
        changed = without_rows(
            table, choices, topic, context, text=f"sweeping {table.name}", writes=writes
        )
        count = sum(sums.records for sums in total_removed(changed).values())
        if not changed or context.is_dry_run:
            return count
        allow_removals(tables, table)
        failure = replace_rewritten(view_of(tables, table), changed, context.run_id)
        if not failure:
            context.after(f"swept {table.name}")
            return count
    raise CommitUnknownError(table=table.name, attempt_count=_MOST_TRIES, reason=failure)


def without_rows(
    table: Table,
    choices: Sequence[RowChoice],
    topic: str,
    context: RunContext,
    *,
    text: str,
    needs_sums: Callable[[RowChoice], bool] = lambda choice: False,
    writes: bool = True,
) -> list[Rewritten]:
    """Rewrite a topic's files of a table without the chosen rows; return files with such rows.

    Args:
        table: the table, of which the newest version is read.
        choices: the rows to remove.
        topic: the topic.
        context: the run.
        text: name of the step, for the progress.
        needs_sums: see `rewrite_tasks`.
        writes: see `RewriteTask`.
    """
    tasks = rewrite_tasks(
        view_of(context.tables, table),
        choices,
        topic,
        compression_level=context.settings.write.compression_level,
        needs_sums=needs_sums,
        writes=writes,
    )
    sizes = [task.old.file.size_bytes for task in tasks]
    done = context.reporter.run_tasks(context.engine, rewrite, tasks, sizes=sizes, text=text)
    return [each for each in done if each.is_changed]


def replace_rewritten(view: TableView, changed: Sequence[Rewritten], run_id: str) -> str:
    """Replace files by the files without the removed rows, in one commit.

    Args:
        view: the newest version, on which the commit is based.
        changed: files to replace.
        run_id: id of the run, for the commit's info.

    Returns:
        The failure as text, which is empty if there is none. A commit that failed may have
        happened.
    """
    there = {file.path for file in view.files}
    if not all(each.file.path in there for each in changed):
        return "a compaction replaced files meanwhile"
    return commit_replacements(
        view,
        [Replacement((each.file,), each.replacement) for each in changed],
        loses_rows=True,
        commit_info={"run_id": run_id, MAINTAINS: "sweep"},
    )
