"""Reads the records of a lake in order: partition by partition, by offset. Reads files.

A file is not opened if its statistics exclude all requested rows. Other files are read one row
group at a time. Rows are held back until no unread row group can have smaller offsets.
"""

import heapq
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, Protocol

import pyarrow as pa

from seglake.errors import WrongCallError
from seglake.grouping import grouped
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.read_policy import Isolation
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.transaction_markers import TransactionState
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_rows import (
    HIGHEST,
    LOWEST,
    Within,
    is_one_of,
    numbers,
    read_rows,
    row_group_starts,
)
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_view import view_of
from seglake.lake.tables import GAPS, RECORDS
from seglake.log_tables.current_gaps import (
    GAP_COLUMNS,
    CurrentGap,
    fillable_gaps,
    fillable_rows,
)
from seglake.log_tables.known_sources import LakeSources
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.record_print.line_style import COLUMNS
from seglake.pipelines.record_print.record_choice import RecordChoice
from seglake.printable import show_count
from seglake.settings.settings import Settings
from seglake.settings.topic_selection import check_selection
from seglake.storage.storage import Storage

_SCHEMA = pa.schema([RECORDS.schema.field(name) for name in COLUMNS])
_PRINTED = tuple(name for name in COLUMNS if name != "topic")
_READ = (*_PRINTED, "source_id", "topic_id", "transaction_state", "generation")


class LakeChoice(NamedTuple):
    """Selection of records.

    Attributes:
        partitions: numbers of partitions; None for all.
        offsets: first offset, and the offset after the last; None for no bound.
        records: times and number of the records.
    """

    partitions: frozenset[int] | None
    offsets: tuple[int, int | None]
    records: RecordChoice

    def conditions(self, partition: int) -> list[Within]:
        """Return conditions that all requested rows meet; other rows may meet them, too."""
        first, stop = self.offsets
        from_ms, to_ms = self.records.from_ms, self.records.to_ms
        found = [Within("partition", partition, partition), Within("offset", first, _last(stop))]
        if from_ms is not None or to_ms is not None:
            least = LOWEST if from_ms is None else from_ms
            found.append(Within("timestamp_ms", least, _last(to_ms)))
        return found

    @property
    def is_of_times(self) -> bool:
        """Return whether a window of time is requested."""
        return self.records.from_ms is not None or self.records.to_ms is not None

    def holes(self, gaps: Iterable[CurrentGap]) -> list[CurrentGap]:
        """Return the gaps in the requested offsets, except gaps made by retention."""
        first, stop = self.offsets
        return [
            gap
            for gap in gaps
            if gap.cause is not GapCause.DELETED
            and first < gap.next_offset
            and gap.start_offset <= _last(stop)
        ]


def _last(stop: int | None) -> int:
    return HIGHEST if stop is None else stop - 1


class NoteReceiver(Protocol):
    """Receiver of messages to the user, such as warnings about missing records."""

    def note(self, text: str) -> None:
        """Receive a note on records that are not shown."""

    def look(self, text: str) -> None:
        """Receive a finding that a person should check."""


class _Ledger(NamedTuple):
    """Ledger of one cluster, with the generation (number) of each topic's newest commit."""

    source_id: str
    rows: SourceLedger
    generations: Mapping[str, int]


class _Part(NamedTuple):
    """A partition of a lake, with the files that may have its rows, and conditions on the rows.

    `hidden` counts the rows of open or aborted transactions, which are not shown; None if all rows
    are shown.
    """

    storage: Storage
    ledger: _Ledger
    key: PartitionKey
    files: Sequence[StoredFile]
    conditions: Sequence[Within]
    hidden: Counter[str] | None


class _Unit(NamedTuple):
    """File or row group to read; all its offsets are at or above `start`."""

    start: int
    path: str
    group: int | None = None


def lake_records(
    lake: str,
    storage: Storage,
    settings: Settings,
    choice: LakeChoice,
    receiver: NoteReceiver,
) -> Iterator[pa.RecordBatch]:
    """Yield the records that lost no election, one partition at a time, by offset.

    Args:
        lake: the lake's path or URI.
        storage: the storage of the lake.
        settings: settings that select topics, isolation and cluster.
        choice: the requested records.
        receiver: receives notes, while the records are read.

    Raises:
        LakeFolderError, NothingSelectedError, WrongCallError: a wrong call.
        PlaceError: a table or a file cannot be read.
    """
    tables = LakeTables(storage.locate(lake), storage)
    tables.require()
    ledgers = _ledgers(tables, settings.source.source_id)
    _report_missing_topics(ledgers, settings, receiver)
    # Read the ledger before listing the files, so that the files have all rows that it covers.
    listed = view_of(tables, RECORDS).files
    files = grouped((file.topic, file) for file in listed)
    hidden: Counter[str] = Counter()
    gaps = {ledger.source_id: _gaps(tables, ledger) for ledger in ledgers}
    for ledger, key in _keys(ledgers, choice.partitions, settings):
        conditions = choice.conditions(key.partition)
        part = _Part(
            storage=storage,
            ledger=ledger,
            key=key,
            files=[file for file in files.get(key.topic, ()) if file.may_hold(conditions)],
            conditions=conditions,
            hidden=hidden if settings.read.isolation is Isolation.READ_COMMITTED else None,
        )
        holes = choice.holes(gaps[ledger.source_id].get(key, ()))
        for rows in _between_holes(part, holes, receiver, is_of_times=choice.is_of_times):
            yield from _printed(rows, key)
    if unsettled := hidden[TransactionState.OPEN]:
        receiver.note(
            f"not shown: records whose transaction was open when they were ingested: {unsettled};"
            " --isolation read_uncommitted shows them, the view settled_records has the outcome"
        )


def _report_missing_topics(
    ledgers: Iterable[_Ledger], settings: Settings, receiver: NoteReceiver
) -> None:
    """Report selected topics that the lake lacks, and notes on the selection."""
    topics = {topic for ledger in ledgers for topic in ledger.generations}
    missing, notes = check_selection(topics, settings.select, place="lake")
    for note in notes:
        receiver.note(note)
    for why in missing.values():
        receiver.look(why)


def _ledgers(tables: LakeTables, source_id: str | None) -> list[_Ledger]:
    found = []
    for name in LakeSources(tables).selected(source_id):
        rows = tables.ledger(name).to_pylist()
        in_order = sorted(rows, key=itemgetter("generation"))
        generations = {row["topic"]: row["generation"] for row in in_order}
        found.append(_Ledger(name, SourceLedger(rows), generations))
    return found


def _gaps(tables: LakeTables, ledger: _Ledger) -> dict[PartitionKey, list[CurrentGap]]:
    rows = tables.rows(GAPS, ledger.source_id, GAP_COLUMNS)
    return fillable_gaps(fillable_rows(rows), ledger.rows)


def _keys(
    ledgers: Iterable[_Ledger], partitions: frozenset[int] | None, settings: Settings
) -> list[tuple[_Ledger, PartitionKey]]:
    keys = [
        (ledger, key)
        for ledger in ledgers
        for key in sorted(ledger.rows.partitions(), key=_place)
        if settings.select.selects_topic(key.topic)
    ]
    there = {key.partition for _, key in keys}
    missing = sorted((partitions or frozenset()) - there)
    if missing and there:
        raise WrongCallError(f"the lake has no partition {missing[0]} of the selected topics")
    return [
        (ledger, key) for ledger, key in keys if partitions is None or key.partition in partitions
    ]


def _place(key: PartitionKey) -> tuple[str, int, str]:
    return key.topic, key.partition, key.topic_id or ""


def _between_holes(
    part: _Part, holes: Iterable[CurrentGap], receiver: NoteReceiver, *, is_of_times: bool
) -> Iterator[pa.Table]:
    """Yield the rows in parts; report each hole once the rows before it have been yielded.

    Args:
        part: the partition.
        holes: its gaps, by offset.
        receiver: receives the holes.
        is_of_times: whether a window of time is requested. If so, holes before the first row and
            after the last row are not reported, since they may be outside the window.
    """
    waiting, has_rows = deque(holes), False
    for rows in _in_order(part):
        offsets, start = numbers(rows, "offset"), 0
        while waiting and waiting[0].start_offset < offsets[-1]:
            hole = waiting.popleft()
            stop = int(offsets.searchsorted(hole.start_offset))
            if stop > start:
                yield rows.slice(start, stop - start)
            start = stop
            if has_rows or start or not is_of_times:
                receiver.look(_hole(part.key, hole))
        has_rows = True
        yield rows.slice(start)
    for hole in () if is_of_times else waiting:
        receiver.look(_hole(part.key, hole))


def _hole(key: PartitionKey, hole: CurrentGap) -> str:
    offsets = show_count(hole.next_offset - hole.start_offset, "offset")
    return (
        f"{key}: {offsets} {hole.cause} in [{hole.start_offset}, {hole.next_offset}): the lake has "
        "no record there"
    )


def _in_order(part: _Part) -> Iterator[pa.Table]:
    """Yield the rows of a partition by rising offset."""
    units = [
        _Unit(file.bounds.get("offset", (LOWEST, HIGHEST))[0], file.path) for file in part.files
    ]
    heapq.heapify(units)
    waiting: list[pa.Table] = []
    while units:
        unit = heapq.heappop(units)
        if unit.group is None:
            groups = row_group_starts(part.storage, unit.path, "offset", part.conditions)
            for start, group in groups:
                heapq.heappush(units, _Unit(max(start, unit.start), unit.path, group))
        else:
            found = read_rows(part.storage, unit.path, _READ, part.conditions, group=unit.group)
            waiting += (_kept(rows, part) for rows in found)
        ready, waiting = _cut(waiting, units[0].start if units else HIGHEST)
        yield from ready


def _kept(rows: pa.Table, part: _Part) -> pa.Table:
    """Return the rows to print, with the columns to print."""
    ledger, key = part.ledger, part.key
    generations = numbers(rows, "generation")
    log = ledger.rows.of(key)
    keep = log.are_current(numbers(rows, "offset"), generations)
    # Rows of a later commit (a higher generation) are not complete yet.
    keep &= generations <= ledger.generations[key.topic]
    keep &= is_one_of(rows, "source_id", [ledger.source_id])
    ids = [key.topic_id, None] if log.owns_unnamed else [key.topic_id]
    keep &= is_one_of(rows, "topic_id", ids)
    if part.hidden is not None:
        for state in (TransactionState.OPEN, TransactionState.ABORTED):
            is_hidden = keep & is_one_of(rows, "transaction_state", [state])
            part.hidden[state] += int(is_hidden.sum())
            keep &= ~is_hidden
    return (rows if keep.all() else rows.filter(pa.array(keep))).select(_PRINTED)


def _cut(waiting: Sequence[pa.Table], stop: int) -> tuple[list[pa.Table], list[pa.Table]]:
    """Split rows at an offset: the rows below it, in order, and the others."""
    whole = pa.concat_tables(waiting) if waiting else None
    if whole is None or not whole.num_rows:
        return [], []
    offsets = numbers(whole, "offset")
    if (offsets[1:] < offsets[:-1]).any():
        whole = whole.sort_by("offset")
        offsets = numbers(whole, "offset")
    count = int(offsets.searchsorted(stop)) if stop < HIGHEST else len(offsets)
    ready, rest = whole.slice(0, count), whole.slice(count)
    return [ready] if count else [], [rest] if rest.num_rows else []


def _printed(rows: pa.Table, key: PartitionKey) -> Iterator[pa.RecordBatch]:
    topics = pa.repeat(key.topic, rows.num_rows)
    return iter(rows.append_column("topic", topics).select(COLUMNS).cast(_SCHEMA).to_batches())
