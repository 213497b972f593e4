"""Salvages records of quarantined batches that no other table has.

Two kinds of batches are salvaged, each if the settings enable it: batches that decode although
their checksum is wrong, and batches of replicas that lost an election.

The salvage runs at the end of an ingest or a replay, over all unresolved damage of the topics,
including damage that earlier runs recorded. Each batch is salvaged only once: a run skips the
batches in the version of `salvaged_records` on which its commit is based.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.findings.losing_tails import LosingTailKind
from seglake.ingest_steps.repair.resolutions import region_of, unresolved
from seglake.ingest_steps.repair.salvaged import Salvaged
from seglake.ingest_steps.run_context import RunContext, published
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.appends import append_lacking
from seglake.lake.delta_tables import Handle
from seglake.lake.parquet_files import DataFile
from seglake.lake.parquet_rows import distinct_rows, plain_texts, read_rows
from seglake.lake.tables import QUARANTINE, SALVAGED_RECORDS
from seglake.log_tables.damaged_batch import DamagedBatch
from seglake.log_tables.erasure_rules import rules_of
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.log_tables.source_ledger import SourceLedger
from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_decoding.salvage_values import (
    PLACE_COLUMNS,
    BatchPlace,
    SalvageReport,
    SalvageTask,
)
from seglake.segment_decoding.task_functions import salvage as salvage_task

APP = "seglake/salvage"
_WRONG_CHECKSUMS = frozenset({DefectCode.CRC_MISMATCH, DefectCode.INNER_CRC_MISMATCH})
_QUARANTINE_COLUMNS = (
    *(*PLACE_COLUMNS, "topic_id", "generation", "resolution", "defect_code", "defect_detail"),
    *("previous_offset", "next_offset", "base_offset", "last_offset"),
    *("expected_crc", "length_bytes", "raw_is_complete"),
)

# Any: a row's columns have many types.
Row = Mapping[str, Any]
Identity = tuple[Any, ...]


class _ToSalvage(NamedTuple):
    """A batch to salvage, and its key in `quarantine` and in `salvaged_records`."""

    batch: DamagedBatch
    size_bytes: int
    identity: Identity


class _Found(NamedTuple):
    """Batches to salvage, by the data file of `quarantine` with their bytes."""

    by_file: Mapping[str, Mapping[BatchPlace, _ToSalvage]]
    cut_batches: int


def salvage(context: RunContext) -> Salvaged:
    """Decode unresolved batches in quarantine; commit rows of complete batches exactly once.

    A dry run decodes nothing, and counts the batches that it would decode.

    Args:
        context: the run; its settings select the batches.

    Raises:
        SeglakeError: the lake cannot be read or written. Earlier commits are kept; run it again.
    """
    if not context.settings.salvages or not context.tables.exists():
        return Salvaged()
    context.reporter.step("looking for batches to salvage")
    _, ledger = published(context, [])
    found = _found(context, ledger)
    if context.is_dry_run:
        return _planned(found, ledger, context)
    reports: list[SalvageReport] = []

    def files(handle: Handle) -> list[DataFile]:
        tasks = _tasks(found, _salvaged_batches(context, ledger, handle), context)
        if tasks:
            context.require_writable()
        reports[:] = context.reporter.run_tasks(
            context.engine,
            salvage_task,
            tasks,
            sizes=[task.size_bytes for task in tasks],
            text="salvaging quarantined batches",
        )
        return [file for report in reports for file in report.files]

    if found.by_file:
        append_lacking(
            context.tables,
            SALVAGED_RECORDS,
            files,
            app=APP,
            run_id=context.run_id,
            now_ms=context.started_at_us // 1000,
            after=context.after,
        )
    salvaged = Salvaged(cut_batches=found.cut_batches)
    for report in reports:
        salvaged = salvaged.and_of(
            Salvaged(records=report.records, batches=report.batches, refused=report.refused)
        )
    return salvaged


def _planned(found: _Found, ledger: SourceLedger, context: RunContext) -> Salvaged:
    """Count, for a dry run, the selected batches that the table lacks."""
    there: Container[Identity] = ()
    if context.tables.has(SALVAGED_RECORDS):
        newest = context.tables.newest(SALVAGED_RECORDS)
        there = _salvaged_batches(context, ledger, newest)
    tasks = _tasks(found, there, context)
    names = Counter(str(batch.key) for task in tasks for batch in task.batches.values())
    return Salvaged(cut_batches=found.cut_batches, planned_batches=dict(names))


def _found(context: RunContext, ledger: SourceLedger) -> _Found:
    """Return the selected topics' unresolved batches in quarantine to salvage."""
    by_file: dict[str, dict[BatchPlace, _ToSalvage]] = {}
    whole: set[BatchPlace] = set()
    cut: set[BatchPlace] = set()
    for key, of_key in _quarantined(context, ledger).items():
        requested = [
            *(_standing(of_key, ledger.of(key)) if context.settings.read.salvage else ()),
            *(_lost(of_key) if context.settings.salvages_losing_tails else ()),
        ]
        for found in sorted(requested, key=itemgetter("generation")):
            place = tuple(found[name] for name in PLACE_COLUMNS)
            if place in whole or place in cut:
                continue  # a concurrent run has already recorded it
            if not found["raw_is_complete"]:
                cut.add(place)
                continue
            whole.add(place)
            to_salvage = _ToSalvage(
                _damaged_batch(key, found), found["length_bytes"], _identity(key, found)
            )
            by_file.setdefault(str(found["path"]), {})[place] = to_salvage
    return _Found(by_file, len(cut))


def _quarantined(context: RunContext, ledger: SourceLedger) -> dict[PartitionKey, list[Row]]:
    """Return the selected topics' rows of `quarantine`, each with the path of its file."""
    settings, selects_topic = context.settings, context.settings.select.selects_topic
    codes = {
        *(_WRONG_CHECKSUMS if settings.read.salvage else ()),
        *((DefectCode.REPLICA_CONFLICT,) if settings.salvages_losing_tails else ()),
    }
    rows: dict[PartitionKey, list[Row]] = {}
    for path in context.tables.file_paths(QUARANTINE):
        for table in read_rows(context.storage, path, _QUARANTINE_COLUMNS):
            for row in _of_codes(table, codes).to_pylist():
                if row["source_id"] == context.source_id and selects_topic(row["topic"]):
                    key = ledger.key_of(row)
                    rows.setdefault(key, []).append({**row, "path": path})
    return rows


def _of_codes(rows: pa.Table, codes: Iterable[DefectCode]) -> pa.Table:
    """Return the rows with one of the codes, and all rows that mark damage as resolved."""
    import pyarrow.compute as pc  # Most runs do not need this import, which takes 0.05 s.

    plain = plain_texts(rows)
    requested = pc.is_in(plain.column("defect_code"), pa.array(sorted(codes), pa.string()))
    return plain.filter(pc.or_(requested, pc.is_valid(plain.column("resolution"))))


def _standing(rows: Iterable[Row], ledger: PartitionLedger) -> Iterator[Row]:
    """Yield the damage that neither a repair nor an election resolved."""
    for row in unresolved(rows):
        start = region_of(row)[0]
        is_current = start < ledger.counts_until(start, row["generation"])
        if row["defect_code"] in _WRONG_CHECKSUMS and is_current:
            yield row


def _lost(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the batches of replicas that lost an election and are not ingested.

    Several replicas may have the same batch, and a later row may have more of its bytes. Each batch
    is yielded once: the first row that has all bytes. The order of the rows does not matter.
    """
    first: dict[Identity, Row] = {}
    for row in rows:
        is_conflict = row["defect_code"] == DefectCode.REPLICA_CONFLICT
        if is_conflict and LosingTailKind.of(row["defect_detail"]) is not None:
            batch = row["last_offset"], row["expected_crc"], row["length_bytes"]
            first[batch] = min(first.get(batch, row), row, key=_listing_order)
    yield from first.values()


def _listing_order(row: Row) -> Identity:
    """Return a sort key for the rows of one batch; rows with all bytes come first."""
    broker_id = -1 if row["broker_id"] is None else row["broker_id"]
    is_cut = not row["raw_is_complete"]
    return is_cut, row["generation"], broker_id, row["segment"], row["position"]


def _damaged_batch(key: PartitionKey, row: Row) -> DamagedBatch:
    is_inside = row["defect_code"] == DefectCode.INNER_CRC_MISMATCH
    return DamagedBatch(
        key=key,
        broker_id=row["broker_id"],
        segment=row["segment"],
        position=row["position"],
        raw_sha256=row["raw_sha256"],
        defect_code=row["defect_code"],
        generation=row["generation"],
        low_offset=row["previous_offset"],
        high_offset=row["next_offset"],
        inner_offset=row["base_offset"] if is_inside else None,
    )


def _identity(key: PartitionKey, row: Row) -> Identity:
    """Return a batch's identity in `quarantine` and in `salvaged_records`.

    A damaged batch is identified by its position and its commit. A batch of a losing replica is
    identified by its bytes, because several replicas may have the same batch.
    """
    if row["defect_code"] == DefectCode.REPLICA_CONFLICT:
        return row["source_id"], key, row["raw_sha256"]
    return (*(row[name] for name in PLACE_COLUMNS), row["generation"])


def _salvaged_batches(context: RunContext, ledger: SourceLedger, handle: Handle) -> set[Identity]:
    """Return the identities of the batches in a version of the table."""
    columns = [*PLACE_COLUMNS, "topic_id", "defect_code", "generation"]
    return {
        _identity(ledger.key_of(batch), batch)
        for path in context.tables.file_paths(SALVAGED_RECORDS, handle=handle)
        for rows in read_rows(context.storage, path, columns)
        for batch in distinct_rows(rows, columns)
    }


def _tasks(found: _Found, there: Container[Identity], context: RunContext) -> list[SalvageTask]:
    tasks = []
    rules = rules_of(context.tables)  # read after the table version on which the commit is based
    for path, batches in found.by_file.items():
        lacking = {
            place: requested
            for place, requested in batches.items()
            if requested.identity not in there
        }
        if not lacking:
            continue
        task = SalvageTask(
            storage=context.storage,
            lake_path=context.tables.lake_path,
            path=path,
            batches={place: each.batch for place, each in lacking.items()},
            size_bytes=sum(each.size_bytes for each in lacking.values()),
            source_id=context.source_id,
            run_id=context.run_id,
            salvaged_at_us=context.started_at_us,
            max_bytes=context.settings.limits.max_decompressed_batch_bytes,
            compression_level=context.settings.write.compression_level,
            rules=rules,
        )
        tasks.append(task)
    return tasks
