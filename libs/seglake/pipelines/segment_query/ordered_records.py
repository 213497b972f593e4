"""Reads the records of sources in order: partition by partition, by offset.

The partitions are planned one after the other: the first records come early, and only one
partition's headers are in memory.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.errors import WrongCallError
from seglake.ingest_steps.planning.partitions import ListedPartition, listed_partitions
from seglake.ingest_steps.report.unread import unread_ranges
from seglake.ingest_steps.run_context import list_selected
from seglake.kafka_log.offset_ranges import OffsetRange, common
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.log_dirs.discovery import Discovery
from seglake.log_dirs.errors import WrongSourceError
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.segment_query.read_plan import (
    QueryPlan,
    Requested,
    plan_logs,
    query_context,
    unreadable,
)
from seglake.pipelines.segment_query.record_stream import SCHEMA, StreamDamage, records_in
from seglake.segment_codec.formats.side_files.log_dir import (
    OFFSET_MAX,
    FileKind,
    FileState,
    parse_file_name,
    parse_folder_name,
)
from seglake.segment_decoding.tasks import DecodeSettings
from seglake.settings.settings import Settings
from seglake.storage.storage import Storage

_NO_CLUSTER = "unnamed"
_Offsets: TypeAlias = Mapping[PartitionKey, Sequence[OffsetRange]]
_Segments: TypeAlias = Mapping[str, Sequence[int]]  # base offsets by partition folder


class Reports(NamedTuple):
    """Receivers of messages to a person.

    Attributes:
        damage: receives damage.
        note: receives facts that need no action.
        look: receives findings other than damage that a person should check.
    """

    damage: Callable[[str], None]
    note: Callable[[str], None]
    look: Callable[[str], None]

    def on(self, damage: StreamDamage) -> None:
        """Report damage, or offsets that are only in a remote tier."""
        (self.look if damage.is_in_tier else self.damage)(damage.text)


def ordered_records(
    sources: Sequence[str],
    storage: Storage,
    settings: Settings,
    requested: Requested,
    reports: Reports,
    *,
    columns: Sequence[str],
) -> Iterator[pa.RecordBatch]:
    """Yield the records that an ingest would read, one partition at a time, by offset.

    On a damaged disk, batches may be out of order. Then rows are sorted only within the batches
    that are decoded together.

    Args:
        sources: sources of an ingest, or single segments.
        storage: the storage of the sources.
        settings: settings that select topics, and limit memory.
        requested: the requested partitions and offsets.
        reports: receives notes, while the records are read.
        columns: the columns to read, including `offset`; each one costs time.

    Raises:
        WrongSourceError, NothingSelectedError, WrongCallError: a wrong call.
        SourceVanishedError, StorageError, SegmentCodecError: a segment has changed or vanished.
    """
    places, segments = _split_up(sources, storage)
    with query_context(storage, settings) as scan:
        discovery = list_selected(places, scan, unnamed_id=_NO_CLUSTER)
        listed = _chosen(discovery, requested, storage)
        for note in discovery.notes:
            reports.note(note)
        for why in discovery.missing_topics.values():
            reports.look(why)
        for reason in unreadable(discovery, requested):
            reports.damage(reason)
        for duplicate in (found for log in listed for found in log.duplicates):
            reports.damage(duplicate.reason)
        for log in listed:
            offsets = {copy.key: _offsets(copy, segments, requested) for copy in log.replicas}
            plan = plan_logs([log], offsets, scan)
            decoding = scan.decoding(discovery.source_id)
            yield from _records(plan, decoding, reports, columns)
            for note in _not_shown(plan, offsets, settings):
                reports.note(note)


def _records(
    plan: QueryPlan, decoding: DecodeSettings, reports: Reports, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([SCHEMA.field(name) for name in columns])
    found = [*plan.losses]
    for planned in plan.ranges:
        for split in planned.splits:
            for rows in records_in(split, decoding, found.append, schema):
                yield from _between_damage(_by_offset(rows), found, reports)
    for damage in found:
        reports.on(damage)


def _between_damage(
    rows: pa.RecordBatch, found: list[StreamDamage], reports: Reports
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in parts; report damage once the rows before it have been yielded.

    Args:
        rows: rows in order.
        found: unreported damage; afterwards, it has only damage after all of these rows.
        reports: receives the damage.
    """
    offsets: NDArray[np.int64] = rows.column("offset").to_numpy()
    start, waiting = 0, sorted(found, key=attrgetter("after_offset"))
    found.clear()
    for damage in waiting:
        stop = int(np.searchsorted(offsets, damage.after_offset, side="right"))
        if stop == len(offsets):
            found.append(damage)
            continue
        if stop > start:
            yield rows.slice(start, stop - start)
            start = stop
        reports.on(damage)
    yield rows.slice(start)


def _by_offset(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows sorted by offset; on a damaged disk, batches may be out of order."""
    offsets: NDArray[np.int64] = rows.column("offset").to_numpy()
    is_ordered = bool((offsets[1:] > offsets[:-1]).all())
    return rows if is_ordered else rows.take(offsets.argsort())


def _not_shown(plan: QueryPlan, offsets: _Offsets, settings: Settings) -> Iterator[str]:
    """Yield the reasons why requested records on the disk are not readable."""
    for partition in plan.partitions:
        stop = max(stop for _, stop in offsets[partition.key])
        for unread in unread_ranges(partition, settings):
            if unread.from_offset < stop:
                yield f"not shown: {partition.replica.key}: {unread.reason}"


def _chosen(discovery: Discovery, requested: Requested, storage: Storage) -> list[ListedPartition]:
    """Return the listed logs of the requested partitions.

    Raises:
        WrongCallError: no selected topic has a requested partition number.
    """
    there = {replica.key.partition for replica in discovery.replicas}
    missing = sorted((requested.partitions or frozenset()) - there)
    if missing and there:
        listed = ", ".join(map(str, sorted(there)[:8])) + (", ..." if len(there) > 8 else "")
        raise WrongCallError(
            f"the sources have no partition {missing[0]} of the selected topics. There are {listed}"
        )
    chosen = (replica for replica in discovery.replicas if requested.includes(replica.key))
    return listed_partitions(chosen, SourceLedger(), storage)


def _split_up(sources: Sequence[str], storage: Storage) -> tuple[list[str], _Segments]:
    """Return the sources, or the folders of segments given as sources.

    For segments, the base offsets by folder are returned too.
    """
    segments: dict[str, list[int]] = {}
    for source in sources:
        name = parse_file_name(source.rsplit("/", 1)[-1])
        if name is not None and name.kind is FileKind.LOG and name.state is FileState.LIVE:
            folder = _partition_folder(source, storage)
            segments.setdefault(folder, []).append(name.base_offset)
    if not segments:
        return [*sources], {}
    if sum(map(len, segments.values())) < len(sources):
        raise WrongSourceError("give segments or folders as sources, not both in one call")
    return [*segments], segments


def _partition_folder(segment: str, storage: Storage) -> str:
    path = storage.locate(segment)
    if storage.info(path) is None:
        raise WrongSourceError(f"source {segment} does not exist: check the path")
    folder = storage.without_links(path.rpartition("/")[0])
    if parse_folder_name(folder.rsplit("/", 1)[-1]) is None:
        raise WrongSourceError(
            f"the segment {segment} is in no partition folder, so its partition is unknown: "
            "move it into one, such as orders-0"
        )
    return folder


def _offsets(replica: Replica, segments: _Segments, requested: Requested) -> Sequence[OffsetRange]:
    """Return the requested offset ranges of a replica, or of some of its segments."""
    if replica.folder not in segments:
        return (requested.offsets,)
    bases = [segment.base_offset for segment in replica.segments]
    ends = zip(bases, [*bases[1:], OFFSET_MAX], strict=True)
    ranges = [(base, stop) for base, stop in ends if base in segments[replica.folder]]
    return common(ranges, requested.offsets) or ((0, 0),)
