"""Salvages records of quarantined batches that are in no other table. Effect.

These are batches that decode though their checksum is wrong, and batches of replicas that lost an
election, each if the settings want it.

Runs at the end of an ingest and of a replay that want it, over all damage of the topics that
nothing has resolved, whichever run recorded it. A batch gets its rows once: what the table has is
looked up in the version that the commit stands on.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from seglake.kafka_log.replica import PartitionKey
from seglake.lake.delta_tables import Handle
from seglake.lake.guarded_append import append_lacking
from seglake.lake.parquet_files import DataFile
from seglake.lake.parquet_rows import read_rows
from seglake.lake.tables import QUARANTINE, SALVAGED_RECORDS
from seglake.log_tables.coverage import Coverage
from seglake.log_tables.salvaged_rows import DamagedBatch
from seglake.pipelines.segment_ingest.repair.resolutions import (
    QUARANTINE_COLUMNS,
    region_of,
    unresolved,
)
from seglake.pipelines.segment_ingest.repair.salvaged import Salvaged
from seglake.pipelines.segment_ingest.replica_conflicts.replica_compare import WON
from seglake.pipelines.segment_ingest.run_context import RunContext, published
from seglake.segment_codec.errors import DefectCode
from seglake.segment_decoding.salvage_task import (
    PLACE_COLUMNS,
    BatchPlace,
    SalvageReport,
    SalvageTask,
)
from seglake.segment_decoding.salvage_task import salvage as salvage_task

APP = "seglake/salvage"
_WRONG_CHECKSUMS = frozenset({DefectCode.CRC_MISMATCH, DefectCode.INNER_CRC_MISMATCH})

Row = Mapping[str, Any]  # Any: the columns of a row have many types


class _Found(NamedTuple):
    """Batches to be salvaged, by the data file of `quarantine` that has their bytes."""

    by_file: Mapping[str, Mapping[BatchPlace, DamagedBatch]]
    sizes: Mapping[BatchPlace, int]
    cut_batches: int


def salvage(context: RunContext) -> Salvaged:
    """Decode what decodes whole of the damage that stands, and commit its rows, exactly once.

    A dry run decodes nothing, and counts what it would decode.

    Raises:
        SeglakeError: the lake failed; what was committed stays, run again.
    """
    if not context.settings.salvages or not context.tables.exists():
        return Salvaged()
    context.reporter.step("looking for batches to salvage")
    found = _found(context)
    if context.is_dry_run:
        return _planned(found, context)
    reports: list[SalvageReport] = []

    def files(handle: Handle) -> list[DataFile]:
        tasks = _tasks(found, _salvaged_batches(context, handle), context)
        if tasks:
            context.announce()
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


def _planned(found: _Found, context: RunContext) -> Salvaged:
    """Return what a dry run would decode: all that is wanted and the table does not have yet."""
    has_table = context.tables.has(SALVAGED_RECORDS)
    there = _salvaged_batches(context, context.tables.newest(SALVAGED_RECORDS)) if has_table else ()
    tasks = _tasks(found, there, context)
    names = Counter(str(batch.key) for task in tasks for batch in task.batches.values())
    return Salvaged(cut_batches=found.cut_batches, planned_batches=names)


def _found(context: RunContext) -> _Found:
    """Find what stands in quarantine and is wanted, of the selected topics."""
    _, coverage = published(context, [])
    takes_topic = context.settings.select.takes_topic
    rows: dict[PartitionKey, list[Row]] = {}
    columns = [*QUARANTINE_COLUMNS]
    for path in context.tables.file_paths(QUARANTINE):
        for table in read_rows(context.storage, path, columns):
            for row in table.to_pylist():
                if row["source_id"] == context.source_id and takes_topic(row["topic"]):
                    key = coverage.key_of(row, row["topic"])
                    rows.setdefault(key, []).append({**row, "path": path})
    by_file: dict[str, dict[BatchPlace, DamagedBatch]] = {}
    sizes: dict[BatchPlace, int] = {}
    cut: set[BatchPlace] = set()
    for key, of_key in rows.items():
        wanted = [
            *(_standing(key, of_key, coverage) if context.settings.read.salvage else ()),
            *(_lost(of_key) if context.settings.takes_losing_tails else ()),
        ]
        for found in sorted(wanted, key=itemgetter("generation")):
            place = tuple(found[name] for name in PLACE_COLUMNS)
            if place in sizes or place in cut:
                continue  # two runs recorded the damage at the end of a log
            if not found["raw_is_complete"]:
                cut.add(place)
                continue
            sizes[place] = found["length_bytes"]
            by_file.setdefault(str(found["path"]), {})[place] = _damaged_batch(key, found)
    return _Found(by_file, sizes, len(cut))


def _standing(key: PartitionKey, rows: Iterable[Row], coverage: Coverage) -> Iterator[Row]:
    """Yield the damage that no repair has made good, and no election has taken away."""
    for row in unresolved(rows):
        start = region_of(row)[0]
        is_current = start < coverage.counts_until(key, start, row["generation"])
        if row["defect_code"] in _WRONG_CHECKSUMS and is_current:
            yield row


def _lost(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the batches of other replicas but those that won: a retake ingests these.

    A batch that came twice, since more of its bytes were kept, is yielded as it came last.
    """
    newest: dict[tuple[Any, ...], Row] = {}
    for row in sorted(rows, key=itemgetter("generation")):
        if row["defect_code"] == DefectCode.REPLICA_CONFLICT and WON not in row["defect_detail"]:
            newest[row["last_offset"], row["expected_crc"], row["length_bytes"]] = row
    yield from newest.values()


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


def _salvaged_batches(context: RunContext, handle: Handle) -> set[tuple[BatchPlace, int]]:
    """Return the places and generations of the batches that a version of the table has."""
    columns = [*PLACE_COLUMNS, "generation"]
    return {
        (tuple(row[name] for name in PLACE_COLUMNS), row["generation"])
        for path in context.tables.file_paths(SALVAGED_RECORDS, handle=handle)
        for table in read_rows(context.storage, path, columns)
        for row in table.select(columns).to_pylist()
    }


def _tasks(
    found: _Found, there: Container[tuple[BatchPlace, int]], context: RunContext
) -> list[SalvageTask]:
    tasks = []
    for path, batches in found.by_file.items():
        lacking = {
            place: batch
            for place, batch in batches.items()
            if (place, batch.generation) not in there
        }
        if not lacking:
            continue
        task = SalvageTask(
            storage=context.storage,
            lake_path=context.tables.lake_path,
            path=path,
            batches=lacking,
            size_bytes=sum(found.sizes[place] for place in lacking),
            source_id=context.source_id,
            run_id=context.run_id,
            salvaged_at_us=context.started_at_us,
            max_bytes=context.settings.limits.max_decompressed_batch_bytes,
            compression_level=context.settings.write.compression_level,
        )
        tasks.append(task)
    return tasks
