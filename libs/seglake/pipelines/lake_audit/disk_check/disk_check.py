"""Steps of a comparison of a lake with the disks, record by record. Changes nothing.

Each replica is compared separately, so that differences on a single broker are found.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from seglake.grouping import grouped
from seglake.kafka_log.internal_topics import is_internal_topic
from seglake.kafka_log.offset_ranges import OffsetRange, subtracted, without
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.unread_segments import described
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_rows import Within
from seglake.lake.table_view import TableView, read_snapshots
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS
from seglake.log_dirs.batch_search import log_end_below
from seglake.log_dirs.discovery import Discovery, discover
from seglake.log_dirs.errors import WrongSourceError
from seglake.log_tables.known_sources import LakeSources
from seglake.log_tables.ledger_layers import INGESTED, record_sum
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.lake_audit.disk_check.disk_check_task import (
    DiskPiece,
    PieceReport,
    Unread,
    check_pieces,
)
from seglake.pipelines.lake_audit.disk_check.lake_rows import LakeRows
from seglake.pipelines.lake_audit.disk_check.ledger_rows import LedgerFacts
from seglake.pipelines.lake_audit.ledger import LakePartition, Row
from seglake.progress.run_reporter import RunReporter
from seglake.segment_codec.formats.side_files.log_dir import SideFile, parse_folder_name
from seglake.settings.settings import Settings
from seglake.settings.topic_selection import check_selection, unmatched_globs
from seglake.storage.storage import Storage
from seglake.task_engine.engine import Engine
from seglake.task_engine.packing import packed

_MOST_PIECES_IN_A_TASK = 256
_MOST_SEGMENTS_IN_A_PIECE = 512


@dataclass(slots=True)
class CopyCheck:
    """Comparison of one replica of a partition with the lake.

    Attributes:
        partition: name of the partition.
        folder: the replica's folder, or a text for a replica without a folder.
        broker_id: the disk's broker; None if unknown.
        lake_records: number of the partition's records, from the ledger. Records that the replica
            lacks were deleted or compacted since, or are on another disk.
        high_watermark: the replica's high watermark; None if unknown.
        superseded: ranges whose rows in the lake all lost an election.
        report: counts of equal and different records.
        failures: reasons why the whole replica, or files with unknown offsets, could not be read.
    """

    partition: str
    folder: str
    broker_id: int | None = None
    lake_records: int = 0
    high_watermark: int | None = None
    superseded: tuple[OffsetRange, ...] = ()
    report: PieceReport = field(default_factory=PieceReport)
    failures: list[str] = field(default_factory=list)

    @property
    def only_in_lake(self) -> int:
        """Return the number of the lake's records that the replica lacks."""
        matched = self.report.equal + self.report.different.records
        return max(self.lake_records - matched - sum(self.report.explained_differences.values()), 0)

    @property
    def has_problem(self) -> bool:
        """Return whether a record differs without an explanation, or could not be compared."""
        report = self.report
        is_wrong = report.different.records or report.only_on_disk.records
        return bool(is_wrong or self.failures or report.failures or self.superseded)

    @property
    def not_ingested(self) -> list[OffsetRange]:
        """Return the offsets of the replica that no run has ingested yet."""
        ranges = self.report.not_ingested
        for superseded in self.superseded:
            ranges = without(ranges, superseded)
        return ranges


class _Lake(NamedTuple):
    """State of a lake when a comparison begins: ledger rows, and lists of data files."""

    storage: Storage
    source_id: str
    ledger: SourceLedger
    snapshots: Mapping[str, TableView]
    ledgers: Mapping[PartitionKey, Sequence[Row]]


def find_disks(
    sources: Sequence[str], lake: str, storage: Storage, settings: Settings
) -> Discovery:
    """List the partitions of the sources, including internal topics.

    A log dir without a cluster id is assumed to belong to the lake's only cluster. The result's
    notes name globs that select nothing, and skipped folders and files.

    Args:
        sources: log dirs, partition folders, or folders above log dirs: paths or URIs.
        lake: the lake's path or URI.
        storage: the storage of the sources and of the lake.
        settings: settings that select topics, and may name the cluster.

    Raises:
        WrongSourceError: a source is missing, is no log dir, or its cluster is unknown.
        NothingSelectedError: none of the existing topics is selected.
    """
    select = replace(settings.select, internal_topics=True)
    known = LakeSources(LakeTables(storage.locate(lake), storage))
    found = discover(
        sources,
        storage,
        selects_topic=select.selects_topic,
        source_id=settings.source.source_id,
        unnamed_id=known.only,
        known=known,
        tier_policy=settings.tier_policy,
    )
    # A folder that could not be listed may have a topic that seems to be missing.
    check = check_selection if found.has_all_topics else unmatched_globs
    missing, notes = check(found.topics, select, place="sources")
    return replace(found, notes=(*notes, *found.notes), missing_topics=missing)


def check_disks(
    disks: Discovery,
    lake: str,
    storage: Storage,
    settings: Settings,
    engine: Engine,
    reporter: RunReporter,
) -> list[CopyCheck]:
    """Decode the ingested offsets of each replica again, and compare them with the lake's rows.

    Args:
        disks: the sources' partitions, from `find_disks`.
        lake: the lake's path or URI.
        storage: the storage of the sources and of the lake.
        settings: settings that limit memory and the size of tasks.
        engine: runs the comparisons.
        reporter: shows the progress.

    Returns:
        One check for each replica.

    Raises:
        WrongSourceError: the lake has no rows of the sources' cluster.
        SeglakeError: the lake cannot be read, or a worker failed.
    """
    known = _read_lake(lake, storage, disks.source_id)
    pieces: list[tuple[CopyCheck, DiskPiece]] = []
    ingested = set(known.ledger.topics)
    checks = [*_not_listed(disks.not_read, ingested), *_absent(disks, known.ledger, ingested)]
    missing = disks.missing_topics.items()
    checks += [CopyCheck(topic, folder="the sources", failures=[why]) for topic, why in missing]
    for replica in disks.replicas:
        if is_internal_topic(replica.key.topic) and replica.key.topic not in ingested:
            continue
        replica = known.ledger.named(replica)
        rows = known.ledgers.get(replica.key, ())
        check = CopyCheck(
            partition=str(replica.key),
            folder=replica.folder,
            broker_id=replica.broker_id,
            lake_records=record_sum(rows),
            high_watermark=replica.checkpoints.high_watermark,
            superseded=tuple(known.ledger.of(replica.key).superseded),
            failures=_not_read(replica),
            report=PieceReport(failures=[Unread(*gap) for gap in replica.remote_gaps]),
        )
        checks.append(check)
        pieces += [(check, piece) for piece in _pieces(replica, known, settings)]
    _compare(pieces, settings, engine, reporter)
    return checks


def _compare(
    pieces: Sequence[tuple[CopyCheck, DiskPiece]],
    settings: Settings,
    engine: Engine,
    reporter: RunReporter,
) -> None:
    """Compare the pieces in tasks, and add the result to each replica's check."""
    tasks = packed(
        pieces,
        lambda pair: pair[1].size_bytes,
        settings.read.split_bytes,
        most_items=_MOST_PIECES_IN_A_TASK,
    )
    sizes = [sum(piece.size_bytes for _, piece in task) for task in tasks]
    plain = [tuple(piece for _, piece in task) for task in tasks]
    answers = reporter.run_tasks(
        engine, check_pieces, plain, sizes=sizes, text="comparing with the disks"
    )
    for task, reports in zip(tasks, answers, strict=True):
        for (check, _), report in zip(task, reports, strict=True):
            check.report.add(report)


def _not_read(replica: Replica) -> list[str]:
    """Return why some files of the replica's folder cannot be compared; empty if all can."""
    return [described(replica.unread)] if replica.unread else []


def _absent(
    disks: Discovery, ledger: SourceLedger, ingested: Container[str]
) -> Iterable[CopyCheck]:
    """Yield checks of partitions with a checkpoint but no folder, if the lake lacks offsets."""
    for (topic, partition), log_dir, start, stop, stated_by, _ in disks.absent:
        if is_internal_topic(topic) and topic not in ingested:
            continue
        key = ledger.latest_key(topic, partition)
        if subtracted((start, stop), ledger.of(key).covered):
            is_mark = stated_by is SideFile.HIGH_WATERMARKS
            what = "high watermark" if is_mark else "recovery point"
            reason = f"there is no folder, but the {what} in {log_dir} is {stop}"
            yield CopyCheck(str(key), folder=log_dir, high_watermark=stop, failures=[reason])


def _not_listed(unreadable: Mapping[str, str], ingested: Container[str]) -> Iterable[CopyCheck]:
    """Yield checks of unreadable folders whose records the lake may lack."""
    for name, reason in unreadable.items():
        folder = parse_folder_name(name)
        is_internal = folder is not None and is_internal_topic(folder.topic)
        if folder is None or not is_internal or folder.topic in ingested:
            yield CopyCheck(name, folder=name, failures=[reason])


def _read_lake(lake: str, storage: Storage, source_id: str) -> _Lake:
    path = storage.locate(lake)
    tables = LakeTables(path, storage)
    # The ledger is read first, so that tables read later have all rows that it covers.
    rows = tables.ledger(source_id).to_pylist()
    if not rows:
        raise WrongSourceError(f"the lake {path} has no rows of the sources' cluster {source_id}")
    ledger = SourceLedger(rows)
    return _Lake(
        storage=storage,
        source_id=source_id,
        ledger=ledger,
        snapshots=read_snapshots(tables, (RECORDS, BATCHES, QUARANTINE, GAPS)),
        ledgers=grouped((ledger.key_of(row), row) for row in rows),
    )


def _pieces(replica: Replica, known: _Lake, settings: Settings) -> Iterable[DiskPiece]:
    lake = _lake_rows(known, replica.key)
    rows = known.ledgers.get(replica.key, ())
    starts = (row["log_start_offset"] or 0 for row in rows if row["kind"] in INGESTED)
    known_start_offset = max([0, *starts])
    # Ingests ignore such a log start, too.
    ignored = log_end_below(known.storage, replica.segments, replica.log_start_offset)
    log_start = replica.log_start_offset if ignored is None else replica.segments[0].base_offset
    covered = tuple(known.ledger.of(replica.key).current)
    packs = packed(
        replica.segments,
        lambda file: file.size_bytes,
        settings.read.split_bytes,
        most_items=_MOST_SEGMENTS_IN_A_PIECE,
    )
    following = [*(pack[0].base_offset for pack in packs[1:]), None]
    for pack, stop_offset in zip(packs, following, strict=False):
        yield DiskPiece(
            source=known.storage,
            lake=lake,
            broker_id=replica.broker_id,
            files=tuple(pack),
            stop_offset=stop_offset,
            durable_offset=replica.durable_offset,
            cleaner_offset=replica.checkpoints.cleaner_offset or 0,
            log_start_offset=log_start,
            known_start_offset=known_start_offset,
            covered=covered,
            read=settings.read,
            max_decompressed_batch_bytes=settings.limits.max_decompressed_batch_bytes,
        )


def _lake_rows(known: _Lake, key: PartitionKey) -> LakeRows:
    """Return a partition's rows in the lake, for the comparison."""
    is_first_id = known.ledger.of(key).owns_unnamed
    partition = Within("partition", key.partition, key.partition)
    files = {
        name: tuple(
            file
            for file in snapshot.files
            if file.topic in (None, key.topic) and file.may_hold([partition])
        )
        for name, snapshot in known.snapshots.items()
    }
    ledger = LedgerFacts.of(LakePartition(known.source_id, key), known.ledgers.get(key, ()))
    return LakeRows(known.storage, ledger, is_first_id, files)
