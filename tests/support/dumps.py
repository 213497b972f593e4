"""Reads the text of Kafka's dump tool: batches, records, index entries, producer states.

The tool prints values as text, line breaks included, so a line counts only when it has the whole
form of one. It aborts on some damage; what it and the makers of the dumps said about that is kept
as notes.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple


class DumpBatch(NamedTuple):
    """A batch of magic 2, or a message of magic 0 or 1: plain, or a wrapper of several.

    A legacy line has only the last offset; the fields it lacks are None. The last offset is
    inclusive, as Kafka has it. `max_timestamp_ms` is -1 for NoTimestampType.
    """

    file_name: str
    position: int
    size_bytes: int
    magic: int
    codec: str
    crc: int
    is_valid: bool
    last_offset: int
    timestamp_type: str
    max_timestamp_ms: int
    base_offset: int | None = None
    record_count: int | None = None
    base_sequence: int | None = None
    last_sequence: int | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    leader_epoch: int | None = None
    is_transactional: bool | None = None
    is_control: bool | None = None
    delete_horizon_ms: int | None = None


class DumpRecord(NamedTuple):
    """A record inside a batch. Sizes are -1 for null. `marker` is COMMIT or ABORT."""

    file_name: str
    offset: int
    timestamp_type: str
    timestamp_ms: int
    key_size_bytes: int
    value_size_bytes: int
    marker: str | None
    coordinator_epoch: int | None


class DumpOffsetEntry(NamedTuple):
    """An entry of an .index file."""

    file_name: str
    offset: int
    position: int


class DumpTimeEntry(NamedTuple):
    """An entry of a .timeindex file."""

    file_name: str
    timestamp_ms: int
    offset: int


class DumpAbortedTransaction(NamedTuple):
    """An entry of a .txnindex file."""

    file_name: str
    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class DumpProducer(NamedTuple):
    """An entry of a .snapshot file; the last five are None for a producer without a batch."""

    file_name: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    current_transaction_first_offset: int | None
    last_timestamp_ms: int
    first_sequence: int | None
    last_sequence: int | None
    last_offset: int | None
    offset_delta: int | None
    timestamp_ms: int | None


@dataclass(slots=True)
class Dump:
    """All that was dumped of one partition's folder, in the order of the text."""

    file_names: list[str] = field(default_factory=list)
    batches: list[DumpBatch] = field(default_factory=list)
    records: list[DumpRecord] = field(default_factory=list)
    offset_entries: list[DumpOffsetEntry] = field(default_factory=list)
    time_entries: list[DumpTimeEntry] = field(default_factory=list)
    aborted_transactions: list[DumpAbortedTransaction] = field(default_factory=list)
    producers: list[DumpProducer] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def batches_of(self, file_name: str) -> list[DumpBatch]:
        """The batches of one .log file."""
        return [batch for batch in self.batches if batch.file_name == file_name]


_INT = r"(-?\d+)"
_TIMESTAMP = rf"(CreateTime|LogAppendTime|NoTimestampType): {_INT}"
_REST = rf"{_TIMESTAMP} size: {_INT} magic: {_INT} compresscodec: (\w+) crc: {_INT} isvalid: (\w+)"
_FILE = re.compile(r"Dumping (?:.*/)?([^/]+)")
_NOTE = re.compile(r"\[dump tool (?:says|failed|exit -?\d+)\].*")
_BATCH = re.compile(
    rf"baseOffset: {_INT} lastOffset: {_INT} count: {_INT}"
    rf" baseSequence: {_INT} lastSequence: {_INT} producerId: {_INT} producerEpoch: {_INT}"
    rf" partitionLeaderEpoch: {_INT}"
    rf" isTransactional: (\w+) isControl: (\w+)"
    rf" deleteHorizonMs: OptionalLong(?:\.empty|\[{_INT}\]) position: {_INT} {_REST}"
)
_MESSAGE = re.compile(rf"offset: {_INT} position: {_INT} {_REST}")
_RECORD = re.compile(
    rf"\| offset: {_INT} {_TIMESTAMP} keySize: {_INT} valueSize: {_INT}"
    rf"(?:.* endTxnMarker: (\w+) coordinatorEpoch: {_INT})?.*"
)
_OFFSET_ENTRY = re.compile(rf"offset: {_INT} position: {_INT}")
_TIME_ENTRY = re.compile(rf"timestamp: {_INT} offset: {_INT}")
_ABORTED = re.compile(
    rf"version: {_INT} producerId: {_INT} firstOffset: {_INT} lastOffset: {_INT}"
    rf" lastStableOffset: {_INT}"
)
_PRODUCER = re.compile(
    rf"producerId: {_INT} producerEpoch: {_INT} coordinatorEpoch: {_INT}"
    rf" currentTxnFirstOffset: OptionalLong(?:\.empty|\[{_INT}\]) lastTimestamp: {_INT}"
    rf"(?: firstSequence: {_INT} lastSequence: {_INT} lastOffset: {_INT} offsetDelta: {_INT}"
    rf" timestamp: {_INT})?\s*"
)


def dump_batches(text: str) -> list[DumpBatch]:
    """Only the batches of a dump."""
    return parse_dump(text).batches


def parse_dump(text: str) -> Dump:
    """Read the dumps of all files of one folder, as the tool printed them one after the other."""
    dump = Dump()
    file_name = ""
    for line in text.split("\n"):
        if found := _FILE.fullmatch(line):
            file_name = found[1]
            dump.file_names.append(file_name)
        elif _NOTE.fullmatch(line):
            dump.notes.append((file_name, line))
        elif file_name.endswith((".log", ".checkpoint")):
            _read_log_line(dump, file_name, line)
        else:
            _read_side_file_line(dump, file_name, line)
    return dump


def _read_log_line(dump: Dump, file_name: str, line: str) -> None:
    if line.startswith("baseOffset: "):
        if found := _BATCH.fullmatch(line):
            dump.batches.append(_batch(file_name, found))
    elif line.startswith("offset: "):
        if found := _MESSAGE.fullmatch(line):
            dump.batches.append(_message(file_name, found))
    elif line.startswith("| offset: ") and (found := _RECORD.fullmatch(line)):
        dump.records.append(
            DumpRecord(
                file_name=file_name,
                offset=int(found[1]),
                timestamp_type=found[2],
                timestamp_ms=int(found[3]),
                key_size_bytes=int(found[4]),
                value_size_bytes=int(found[5]),
                marker=found[6],
                coordinator_epoch=_optional(found[7]),
            )
        )


def _read_side_file_line(dump: Dump, file_name: str, line: str) -> None:
    if found := _OFFSET_ENTRY.fullmatch(line):
        dump.offset_entries.append(DumpOffsetEntry(file_name, int(found[1]), int(found[2])))
    elif found := _TIME_ENTRY.fullmatch(line):
        dump.time_entries.append(DumpTimeEntry(file_name, int(found[1]), int(found[2])))
    elif found := _ABORTED.fullmatch(line):
        numbers = [int(number) for number in found.groups()]
        dump.aborted_transactions.append(DumpAbortedTransaction(file_name, *numbers))
    elif found := _PRODUCER.fullmatch(line):
        dump.producers.append(
            DumpProducer(
                file_name=file_name,
                producer_id=int(found[1]),
                producer_epoch=int(found[2]),
                coordinator_epoch=int(found[3]),
                current_transaction_first_offset=_optional(found[4]),
                last_timestamp_ms=int(found[5]),
                first_sequence=_optional(found[6]),
                last_sequence=_optional(found[7]),
                last_offset=_optional(found[8]),
                offset_delta=_optional(found[9]),
                timestamp_ms=_optional(found[10]),
            )
        )


def _batch(file_name: str, found: re.Match[str]) -> DumpBatch:
    return DumpBatch(
        file_name=file_name,
        base_offset=int(found[1]),
        last_offset=int(found[2]),
        record_count=int(found[3]),
        base_sequence=int(found[4]),
        last_sequence=int(found[5]),
        producer_id=int(found[6]),
        producer_epoch=int(found[7]),
        leader_epoch=int(found[8]),
        is_transactional=found[9] == "true",
        is_control=found[10] == "true",
        delete_horizon_ms=_optional(found[11]),
        position=int(found[12]),
        timestamp_type=found[13],
        max_timestamp_ms=int(found[14]),
        size_bytes=int(found[15]),
        magic=int(found[16]),
        codec=found[17],
        crc=int(found[18]),
        is_valid=found[19] == "true",
    )


def _message(file_name: str, found: re.Match[str]) -> DumpBatch:
    return DumpBatch(
        file_name=file_name,
        last_offset=int(found[1]),
        position=int(found[2]),
        timestamp_type=found[3],
        max_timestamp_ms=int(found[4]),
        size_bytes=int(found[5]),
        magic=int(found[6]),
        codec=found[7],
        crc=int(found[8]),
        is_valid=found[9] == "true",
    )


def _optional(number: str | None) -> int | None:
    return None if number is None else int(number)
