"""Compares the lake with the disks, record by record: the order of it. Effect: reads, no writes.

Each copy is compared on its own: what one of several brokers lacks or has differently shows.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lake.delta_tables import LakeTables
from lake.engine import Engine
from lake.parquet_rows import HIGHEST, LOWEST, Within
from lake.snapshots import Snapshot, StoredFile, read_snapshots
from lake.storage import Storage
from lake.tables import BATCHES, CHECKPOINTS, GAPS, QUARANTINE, RECORDS, Table
from pipelines.segment_ingest.disk_checking.disk_check_task import (
    DiskPiece,
    PieceReport,
    Places,
    check_pieces,
)
from pipelines.segment_ingest.disk_checking.lake_rows import LakePartition
from pipelines.segment_ingest.errors import WrongSourceError
from pipelines.segment_ingest.planning.coverage import Coverage, merged, with_known_id
from pipelines.segment_ingest.progress import RunReporter
from pipelines.segment_ingest.settings import Settings
from pipelines.segment_ingest.sources.discover import Discovery, discover
from pipelines.segment_ingest.sources.partition_log import PartitionKey, Replica, SegmentFile
from segment_codec.log_dir import parse_folder_name

_INTERNAL_PREFIX = "__"
_AUDITED = (RECORDS, BATCHES, QUARANTINE, GAPS, CHECKPOINTS)
_MOST_PIECES_IN_A_TASK = 256


@dataclass(slots=True)
class CopyCheck:
    """What one copy of a partition and the lake have of each other.

    Attributes:
        lake_records: records that the ledger counts of the partition; those that the copy has no
            longer were deleted or compacted since, or lie on another disk.
        failures: pieces that could not be read.
    """

    partition: str
    folder: str
    broker_id: int | None
    lake_records: int
    high_watermark: int | None
    report: PieceReport = field(default_factory=PieceReport)
    failures: list[str] = field(default_factory=list)

    @property
    def only_in_lake(self) -> int:
        matched = self.report.equal + self.report.different.records
        return max(self.lake_records - matched - sum(self.report.explained_differences.values()), 0)

    @property
    def has_problem(self) -> bool:
        report = self.report
        return bool(report.different.records or report.only_on_disk.records or self.failures)


@dataclass(frozen=True, slots=True)
class _Lake:
    """What the driver knows of the lake."""

    storage: Storage
    source_id: str
    coverage: Coverage
    snapshots: Mapping[str, Snapshot]
    totals: Mapping[PartitionKey, tuple[int, int]]  # records, highest log start


def find_disks(sources: Sequence[str], storage: Storage, settings: Settings) -> Discovery:
    """List the partitions of the sources, internal topics too.

    Raises:
        WrongSourceError: a source is missing, no log dir, or whose it is cannot be told.
    """
    select = replace(settings.select, internal_topics=True)
    return discover(sources, storage, replace(settings, select=select))


def check_disks(
    disks: Discovery,
    lake: str,
    storage: Storage,
    settings: Settings,
    engine: Engine,
    reporter: RunReporter,
) -> list[CopyCheck]:
    """Decode again what the lake has taken of each copy, and compare it with the lake's rows.

    Raises:
        WrongSourceError: the lake has nothing of the sources' cluster.
        LakeError: the lake cannot be read, or a worker failed.
    """
    known = _read_lake(lake, storage, disks.source_id)
    checks: list[CopyCheck] = []
    pieces: list[tuple[CopyCheck, DiskPiece]] = []
    taken = set(known.coverage.topics())
    checks += _not_listed(disks.unreadable, taken)
    for replica in disks.replicas:
        if replica.key.topic.startswith(_INTERNAL_PREFIX) and replica.key.topic not in taken:
            continue
        replica = with_known_id(replica, known.coverage)
        records, start = known.totals.get(replica.key, (0, 0))
        check = CopyCheck(
            str(replica.key),
            replica.folder,
            replica.broker_id,
            records,
            replica.checkpoints.high_watermark,
        )
        checks.append(check)
        pieces += [(check, piece) for piece in _pieces(replica, start, known, settings)]
    tasks = _tasks(pieces, settings.read.split_bytes)
    sizes = [sum(piece.size_bytes for _, piece in task) for task in tasks]
    counting = reporter.counting("comparing with the disks", sizes)
    plain = [tuple(piece for _, piece in task) for task in tasks]
    for task, reports in zip(tasks, engine.run(check_pieces, plain, on_done=counting), strict=True):
        for (check, _), report in zip(task, reports, strict=True):
            _fold(check, report)
    reporter.clear()
    return checks


def _not_listed(unreadable: Mapping[str, str], taken: Container[str]) -> Iterable[CopyCheck]:
    """Folders that nothing could be compared with; what they hold may not be in the lake."""
    for name, reason in unreadable.items():
        folder = parse_folder_name(name)
        is_internal = folder is not None and folder.topic.startswith(_INTERNAL_PREFIX)
        if folder is None or not is_internal or folder.topic in taken:
            yield CopyCheck(name, name, None, 0, None, failures=[reason])


def _read_lake(lake: str, storage: Storage, source_id: str) -> _Lake:
    path = storage.locate(lake)
    tables = LakeTables(path, storage)
    rows = tables.ledger(source_id).to_pylist()  # before the other tables: they have all of it
    if not rows:
        raise WrongSourceError(
            f"the lake {path} has nothing of cluster {source_id}, which the sources are of"
        )
    coverage = Coverage(rows)
    totals: dict[PartitionKey, tuple[int, int]] = {}
    for row in rows:
        key = coverage.joined_key(PartitionKey(row["topic"], row["partition"], row["topic_id"]))
        records, start = totals.get(key, (0, 0))
        is_log = row["kind"] == "ingest"
        start = max(start, (row["log_start_offset"] or 0) if is_log else 0)
        totals[key] = (records + (row["records"] or 0), start)
    return _Lake(storage, source_id, coverage, read_snapshots(tables, _AUDITED), totals)


def _pieces(
    replica: Replica, known_start_offset: int, known: _Lake, settings: Settings
) -> Iterable[DiskPiece]:
    lake = _lake_partition(known, replica.key)
    covered = tuple(known.coverage.ranges(replica.key))
    segments = replica.segments
    for start, stop in _cuts(segments, settings.read.split_bytes):
        yield DiskPiece(
            known.storage,
            lake,
            replica.broker_id,
            segments[start:stop],
            stop == len(segments),
            replica.checkpoints.cleaner_offset or 0,
            replica.settled_offset,
            replica.log_start_offset,
            known_start_offset,
            covered,
            settings.read.window_bytes,
            settings.read.decoded_bytes,
            settings.limits.max_decompressed_batch_bytes,
        )


def _cuts(segments: Sequence[SegmentFile], piece_bytes: int) -> Iterable[tuple[int, int]]:
    """Segments in a row, as many a piece as its bytes allow."""
    start, size_bytes = 0, 0
    for index, file in enumerate(segments):
        if index > start and size_bytes + file.size_bytes > piece_bytes:
            yield start, index
            start, size_bytes = index, 0
        size_bytes += file.size_bytes
    if segments:
        yield start, len(segments)


def _lake_partition(known: _Lake, key: PartitionKey) -> LakePartition:
    """The lake's side of a partition's pieces."""
    is_first_id = known.coverage.joined_key(key._replace(topic_id=None)) == key

    def files(table: Table) -> tuple[StoredFile, ...]:
        own = Within("partition", key.partition, key.partition)
        return tuple(
            file
            for file in known.snapshots[table.name].files
            if file.topic in (None, key.topic)
            and own.may_hold(*file.bounds.get("partition", (LOWEST, HIGHEST)))
        )

    return LakePartition(
        known.storage,
        known.source_id,
        key,
        is_first_id,
        files(RECORDS),
        files(BATCHES),
        files(GAPS),
        files(QUARANTINE),
    )


def _tasks(
    pieces: Iterable[tuple[CopyCheck, DiskPiece]], task_bytes: int
) -> list[list[tuple[CopyCheck, DiskPiece]]]:
    tasks: list[list[tuple[CopyCheck, DiskPiece]]] = []
    room = 0
    for check, piece in pieces:
        if not tasks or piece.size_bytes > room or len(tasks[-1]) == _MOST_PIECES_IN_A_TASK:
            tasks.append([])
            room = task_bytes
        tasks[-1].append((check, piece))
        room -= piece.size_bytes
    return tasks


def _fold(check: CopyCheck, report: PieceReport) -> None:
    total = check.report
    total.equal += report.equal
    total.different = _together(total.different, report.different)
    total.only_on_disk = _together(total.only_on_disk, report.only_on_disk)
    total.damaged_spans += report.damaged_spans
    total.not_taken = merged([*total.not_taken, *report.not_taken])
    for mine, theirs in (
        (total.explained_differences, report.explained_differences),
        (total.left_out, report.left_out),
    ):
        for reason, count in theirs.items():
            mine[reason] = mine.get(reason, 0) + count
    if report.failure is not None:
        check.failures.append(report.failure)


def _together(one: Places, other: Places) -> Places:
    most = max(len(one.first_offsets), len(other.first_offsets), 10)
    shown = sorted([*one.first_offsets, *other.first_offsets])[:most]
    return Places(one.records + other.records, tuple(shown))
