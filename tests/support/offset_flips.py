"""Bits flipped in the offset fields of a log that lies on a disk: what comes out of it then.

Nothing is written: a storage gives other bytes of one file. What must come out is known from the
log as it is, which other tests compare with Kafka's own consumer.
"""

import io
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Self

import pyarrow as pa

from seglake.ingest_steps.planning.partitions import listed_partitions
from seglake.ingest_steps.planning.plan import plan_ranges
from seglake.ingest_steps.planning.replica_survey import survey_partitions
from seglake.ingest_steps.run_context import ScanContext
from seglake.kafka_log.replica import Replica
from seglake.lake.tables import BATCHES, QUARANTINE, RECORDS
from seglake.log_dirs.discovery import discover
from seglake.log_tables.source_ledger import SourceLedger
from seglake.progress.run_reporter import RunReporter
from seglake.segment_decoding.split_decoder import SplitDecoder
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Reader, Storage
from seglake.task_engine.engine import LocalEngine

_PREFIX = struct.Struct(">qi4xb")
_OFFSET = struct.Struct(">q")
_DELTA = struct.Struct(">i")
_DELTA_POSITION = 23
_SIZE_STOP = 12
_OFFSET_BITS = 64
_LOW_BITS = 12

Record = tuple[Any, ...]  # Any: the columns of a row have many types


class Outcome(StrEnum):
    """Outcome of one flipped bit."""

    QUARANTINED = "quarantined"  # and all rows are right
    HARMLESS = "harmless"  # the batch has no rows to lose
    UNDECIDABLE = "undecidable"  # the disk is that of another log that the cleaner left
    COLLATERAL = "collateral"  # rows are right, and more are missing than those of the batch
    WRONG = "silently wrong"


class Flip(NamedTuple):
    """Bits of one offset field."""

    segment: int
    batch: int
    mask: int


class LogBatch(NamedTuple):
    """A batch, or one message that is not compressed, and the offsets that it truly has."""

    position: int
    first_offset: int
    last_offset: int
    is_wrapper: bool

    @property
    def offset(self) -> int:
        """Return the offset that the flipped field states."""
        return self.last_offset if self.is_wrapper else self.first_offset


@dataclass
class Answer:
    """Ranges, gaps and damage that a run reads in a log."""

    records: dict[int, Record] = field(default_factory=dict)
    twice: int = 0
    quarantined: list[Record] = field(default_factory=list)  # segment, place, why
    batches: list[Record] = field(default_factory=list)
    is_plain: bool = True
    hole_count: int = 0  # a run says of them that they leave offsets unproved


class _Bytes:
    def __init__(self, content: bytes) -> None:
        self._content = content

    @property
    def size_bytes(self) -> int:
        return len(self._content)

    def read(self, position: int, length: int) -> bytes:
        return self._content[position : position + length]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        return


class _Overlaid(LocalStorage):
    """The local disk, but for some files."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        super().__init__()
        self._contents = contents

    def open_reader(self, path: str) -> Reader:
        content = self._contents.get(path)
        return super().open_reader(path) if content is None else _Bytes(content)


class FlippedLog:
    """One partition of a log dir.

    Args:
        read: settings of this section.
        split_bytes: how the work is cut; the least that settings allow is far more.
    """

    def __init__(
        self,
        replica: Replica,
        *,
        read: Mapping[str, object] | None = None,
        split_bytes: int = 2000,
    ) -> None:
        layer = {"read": {"isolation": "read_uncommitted", **(read or {})}}
        self._settings = Settings.from_mappings([("test", layer)])
        object.__setattr__(self._settings.read, "split_bytes", split_bytes)
        self.replica = replica
        self._contents = {
            segment.path: Path(segment.path).read_bytes() for segment in replica.segments
        }
        self.truth = self.answer(self._contents)

    @cached_property
    def batches(self) -> list[list[LogBatch]]:
        """Return the batches of each segment."""
        spans = {(name, at): (first, last) for name, at, first, last in self.truth.batches}
        return [
            list(_batches(self._contents[segment.path], segment.name, spans))
            for segment in self.replica.segments
        ]

    def answer(self, contents: Mapping[str, bytes]) -> Answer:
        """Return the result of a first run over the log whose files have these bytes."""
        return answer_of(self.replica, self._settings, _Overlaid(contents))

    def outcome(self, flip: Flip) -> tuple[Outcome, Answer]:
        """Flip bits, read the log, and compare."""
        segment = self.replica.segments[flip.segment]
        batch = self.batches[flip.segment][flip.batch]
        content = bytearray(self._contents[segment.path])
        field_ = content[batch.position : batch.position + _OFFSET.size]
        changed = int.from_bytes(field_, "big") ^ flip.mask
        content[batch.position : batch.position + _OFFSET.size] = changed.to_bytes(8, "big")
        answer = self.answer({**self._contents, segment.path: bytes(content)})
        claimed = _OFFSET.unpack(changed.to_bytes(8, "big"))[0]
        return self._judged(answer, flip, claimed - batch.offset), answer

    def _judged(self, answer: Answer, flip: Flip, shift: int) -> Outcome:
        truth = self.truth.records
        is_right = not answer.twice and all(
            truth.get(offset) == record for offset, record in answer.records.items()
        )
        if not is_right:
            is_said = answer.hole_count > 0 and self._is_a_log(flip, shift)
            return Outcome.UNDECIDABLE if is_said else Outcome.WRONG
        batch = self.batches[flip.segment][flip.batch]
        missing = truth.keys() - answer.records.keys()
        if not missing:
            return Outcome.HARMLESS
        if any(not batch.first_offset <= offset <= batch.last_offset for offset in missing):
            return Outcome.COLLATERAL
        return Outcome.QUARANTINED

    def _is_a_log(self, flip: Flip, shift: int) -> bool:
        """Return whether a log with holes may rightly have the flipped offsets."""
        batch = self.batches[flip.segment][flip.batch]
        spans = [
            [(one.first_offset, one.last_offset) for one in segment] for segment in self.batches
        ]
        all_spans = [span for segment in spans for span in segment]
        is_dense = all(after[0] == before[1] + 1 for before, after in pairwise(all_spans))
        first, last = batch.first_offset + shift, batch.last_offset + shift
        spans[flip.segment][flip.batch] = (first, last)
        flat = [span for segment in spans for span in segment]
        rises = all(after[0] > before[1] for before, after in pairwise(flat))
        segments = self.replica.segments
        base = segments[flip.segment].base_offset
        limit = (
            segments[flip.segment + 1].base_offset if flip.segment + 1 < len(segments) else 1 << 62
        )
        return rises and not is_dense and base <= first and last < limit


def answer_of(replica: Replica, settings: Settings, storage: Storage) -> Answer:
    """Return the result of a first run over a log; each byte of its segments is accounted for."""
    answer = Answer()
    with LocalEngine(1) as engine:
        scan = ScanContext(
            storage=storage,
            settings=settings,
            engine=engine,
            reporter=RunReporter(io.StringIO(), verbosity=-1),
        )
        decoding = scan.decoding("test")
        listed = listed_partitions([replica], SourceLedger(), storage)
        for partition in survey_partitions(listed, scan):
            answer.hole_count = sum(survey.hole_count for survey in partition.surveys)
            for plan in plan_ranges(partition, settings):
                for split in plan.splits:
                    answer.is_plain &= split.is_plain
                    decoder = SplitDecoder(split, decoding)
                    for table, rows in decoder.rows():
                        _collect(answer, table.name, rows)
                    assert decoder.report().bytes.total == split.size_bytes, split
    return answer


def logs_of(log_dir: Path, **options: Any) -> Iterator[FlippedLog]:
    """The partitions of a log dir that hold records."""
    settings = Settings.from_mappings([("test", {"select": {"internal_topics": True}})])
    found = discover([str(log_dir)], LocalStorage(), selects_topic=settings.select.selects_topic)
    for replica in found.replicas:
        if replica.segments and not replica.is_future:
            yield FlippedLog(replica, **options)


def random_flip(log: FlippedLog, random: Random) -> Flip:
    """One to three bits; every second time low ones, which move a batch a little only."""
    places = [
        (segment, batch)
        for segment, batches in enumerate(log.batches)
        for batch in range(len(batches))
    ]
    segment, batch = random.choice(places)
    most = random.choice((_LOW_BITS, _OFFSET_BITS))
    bits = random.sample(range(most), random.randint(1, 3))
    return Flip(segment, batch, sum(1 << bit for bit in bits))


def _collect(answer: Answer, table: str, rows: pa.RecordBatch | Sequence[Record]) -> None:
    if isinstance(rows, pa.RecordBatch):
        if table == RECORDS.name:
            names = ("offset", "timestamp_ms", "key", "value")
            columns = [rows.column(name).to_pylist() for name in names]
            for record in zip(*columns, strict=True):
                answer.twice += record[0] in answer.records
                answer.records[record[0]] = record
        return
    if table == QUARANTINE.name:
        at = [QUARANTINE.schema.names.index(name) for name in _QUARANTINE]
        answer.quarantined += [tuple(row[index] for index in at) for row in rows]
    elif table == BATCHES.name:
        at = [BATCHES.file_schema.names.index(name) for name in _BATCH]
        answer.batches += [tuple(row[index] for index in at) for row in rows]


_QUARANTINE = ("segment", "position", "defect_code", "defect_detail")
_BATCH = ("segment", "position", "base_offset", "last_offset")


def _batches(
    content: bytes, name: str, spans: Mapping[tuple[str, int], tuple[int, int]]
) -> Iterator[LogBatch]:
    """The batches of a sound segment; of a wrapper the table of batches knows where it begins."""
    position = 0
    while len(content) - position > _PREFIX.size:
        offset, size, magic = _PREFIX.unpack_from(content, position)
        stop = position + _SIZE_STOP + size
        if size < 14 or stop > len(content) or magic > 2:
            return
        if magic == 2:
            (delta,) = _DELTA.unpack_from(content, position + _DELTA_POSITION)
            yield LogBatch(position, offset, offset + delta, is_wrapper=False)
        elif content[position + _PREFIX.size] & 7 == 0:
            yield LogBatch(position, offset, offset, is_wrapper=False)
        elif (name, position) in spans:
            first, _ = spans[name, position]
            yield LogBatch(position, first, offset, is_wrapper=True)
        else:  # not ingested, so nothing is known of it
            return
        position = stop
