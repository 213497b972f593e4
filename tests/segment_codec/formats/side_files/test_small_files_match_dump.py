"""Every index, transaction index and snapshot of the disks, against Kafka's own dump."""

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from seglake.segment_codec.formats.side_files import (
    log_dir,
    offset_index,
    producer_snapshot,
    time_index,
    transaction_index,
)
from seglake.segment_codec.formats.side_files.log_dir import FileKind, FileState
from seglake.segment_codec.formats.side_files.producer_snapshot import ProducerState
from support import broker_disks
from support.broker_disks import SCENARIOS
from support.dumps import Dump, DumpProducer
from support.oracle import dumped_folders


class SideFile(NamedTuple):
    path: Path
    base_offset: int
    kind: FileKind
    dump: Dump

    @property
    def key(self) -> str:
        return "/".join(self.path.parts[-5:])


@cache
def side_files(scenario: str) -> tuple[SideFile, ...]:
    return tuple(
        SideFile(path, name.base_offset, name.kind, dump)
        for folder, dump in dumped_folders(scenario)
        for path in sorted(folder.iterdir())
        if (name := log_dir.parse_file_name(path.name)) is not None
        and name.kind is not FileKind.LOG
        and name.state is FileState.LIVE
        and path.name in dump.file_names
    )


def test_every_side_file_with_bytes_was_dumped_and_is_compared() -> None:
    compared = {file.path for scenario in SCENARIOS for file in side_files(scenario)}
    on_disk = {
        path
        for scenario in SCENARIOS
        for path in (broker_disks.unpacked(scenario) / "disks").rglob("*")
        if (name := log_dir.parse_file_name(path.name)) is not None
        and name.kind is not FileKind.LOG
        and name.state is FileState.LIVE
        and path.stat().st_size
    }
    assert on_disk <= compared
    assert len(on_disk) > 1000


def files_of(scenario: str, kind: FileKind) -> list[SideFile]:
    return [file for file in side_files(scenario) if file.kind is kind]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_offset_index_entries_are_those_of_the_dump(scenario: str) -> None:
    expected, found = {}, {}
    for file in files_of(scenario, FileKind.INDEX):
        data = file.path.read_bytes()
        entries = [e[1:] for e in file.dump.offset_entries if e.file_name == file.path.name]
        if not any(data):
            assert entries in ([], [(file.base_offset, 0)])  # made of the zeros at the start
            entries = []
        expected[file.key] = entries, None
        index = offset_index.parse(data, file.base_offset)
        found[file.key] = [tuple(entry) for entry in index.entries], index.damage
    assert found == expected
    assert found


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_time_index_entries_are_those_of_the_dump(scenario: str) -> None:
    expected, found = {}, {}
    for file in files_of(scenario, FileKind.TIMEINDEX):
        data = file.path.read_bytes()
        entries = [e[1:] for e in file.dump.time_entries if e.file_name == file.path.name]
        if not any(data):
            assert entries in ([], [(0, file.base_offset)])  # made of the zeros at the start
            entries = []
        expected[file.key] = entries, None
        index = time_index.parse(data, file.base_offset)
        found[file.key] = [tuple(entry) for entry in index.entries], index.damage
    assert found == expected
    assert found


def test_transaction_index_entries_are_those_of_the_dump() -> None:
    expected, found = {}, {}
    for scenario in SCENARIOS:
        for file in files_of(scenario, FileKind.TXNINDEX):
            aborted = file.dump.aborted_transactions
            entries = [e[1:] for e in aborted if e.file_name == file.path.name]
            expected[scenario, file.key] = entries, None
            index = transaction_index.parse(file.path.read_bytes())
            found[scenario, file.key] = [tuple(entry) for entry in index.entries], index.damage
    assert found == expected
    assert sum(len(entries) for entries, _ in found.values()) > 20


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_producer_snapshot_entries_are_those_of_the_dump(scenario: str) -> None:
    expected = defaultdict(list)
    found = defaultdict(list)
    for file in files_of(scenario, FileKind.SNAPSHOT):
        producers = [e for e in file.dump.producers if e.file_name == file.path.name]
        expected[file.key] = producers
        snapshot = producer_snapshot.parse(file.path.read_bytes())
        assert (snapshot.version, snapshot.crc_is_valid, snapshot.damage) == (1, True, None)
        found[file.key] = [as_dumped(file.path.name, state) for state in snapshot.entries]
    assert found == expected


def as_dumped(file_name: str, state: ProducerState) -> DumpProducer:
    has_batch = state.last_offset is not None
    first_sequence = state.last_sequence - state.offset_delta
    return DumpProducer(
        file_name=file_name,
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        coordinator_epoch=state.coordinator_epoch,
        current_transaction_first_offset=state.current_txn_first_offset,
        last_timestamp_ms=state.timestamp_ms,
        first_sequence=first_sequence if has_batch else None,
        last_sequence=state.last_sequence if has_batch else None,
        last_offset=state.last_offset,
        offset_delta=state.offset_delta if has_batch else None,
        timestamp_ms=state.timestamp_ms if has_batch else None,
    )
