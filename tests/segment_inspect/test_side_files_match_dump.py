"""Index files and snapshots of the disks, as inspect shows them, against Kafka's own dump.

What differs, and why that is right: of an index file that is all zeros the dump makes one entry of
the first zeros; here it has none. Kafka's -1 for no offset is null here. A producer's line in the
dump has sequences and offset only where a batch of its is known.
"""

from pathlib import Path
from typing import Any

import pytest

from seglake.segment_codec.formats.side_files import log_dir
from seglake.segment_codec.formats.side_files.log_dir import FileKind
from support import broker_disks
from support.broker_disks import SCENARIOS
from support.dumps import Dump, DumpProducer
from support.looks import Line
from support.oracle import dumped_folders

FOUND_KINDS = (FileKind.INDEX, FileKind.TIMEINDEX, FileKind.TXNINDEX, FileKind.SNAPSHOT)


def dumped_files(scenario: str) -> list[tuple[Path, FileKind, Dump]]:
    return [
        (path, file.kind, dump)
        for folder, dump in dumped_folders(scenario)
        for path in sorted(folder.iterdir())
        if (file := log_dir.parse_file_name(path.name)) is not None and path.name in dump.file_names
    ]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_entries_are_those_of_the_dump(scenario: str, json_look: Any) -> None:
    compared = 0
    for path, kind, dump in dumped_files(scenario):
        if kind in FOUND_KINDS:
            first, *entries, summary = json_look(path)
            assert (first["type"], first["kind"]) == ("file", kind)
            assert "damage" not in first
            assert summary["damage"] is None
            assert (summary["type"], summary["entry_count"]) == ("summary", len(entries))
            assert {line.pop("type") for line in entries} <= {"entry"}
            assert [shown(line, kind, path.name) for line in entries] == dumped(dump, kind, path)
            compared += len(entries)
    assert compared


def shown(line: Line, kind: FileKind, file_name: str) -> tuple[Any, ...]:
    if kind is not FileKind.SNAPSHOT:
        return (file_name, *line.values())
    has_batch = line["last_offset"] is not None
    return DumpProducer(
        file_name=file_name,
        producer_id=line["producer_id"],
        producer_epoch=line["producer_epoch"],
        coordinator_epoch=line["coordinator_epoch"],
        current_transaction_first_offset=line["current_txn_first_offset"],
        last_timestamp_ms=line["timestamp_ms"],
        first_sequence=line["last_sequence"] - line["offset_delta"] if has_batch else None,
        last_sequence=line["last_sequence"] if has_batch else None,
        last_offset=line["last_offset"],
        offset_delta=line["offset_delta"] if has_batch else None,
        timestamp_ms=line["timestamp_ms"] if has_batch else None,
    )


def dumped(dump: Dump, kind: FileKind, path: Path) -> list[tuple[Any, ...]]:
    entries: dict[FileKind, list[Any]] = {
        FileKind.INDEX: dump.offset_entries,
        FileKind.TIMEINDEX: dump.time_entries,
        FileKind.TXNINDEX: dump.aborted_transactions,
        FileKind.SNAPSHOT: dump.producers,
    }
    own = [entry for entry in entries[kind] if entry.file_name == path.name]
    is_zero = kind in (FileKind.INDEX, FileKind.TIMEINDEX) and not any(path.read_bytes())
    return [] if is_zero else own


def test_every_checkpoint_file_of_the_disks_is_read_whole(json_look: Any) -> None:
    names = {
        "replication-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
        "leader-epoch-checkpoint",
    }
    compared = 0
    for scenario in SCENARIOS:
        for path in sorted((broker_disks.unpacked(scenario) / "disks").rglob("*-checkpoint")):
            if path.name in names:
                _, *entries, summary = json_look(path)
                lines = path.read_text("utf-8").splitlines()[2:]
                words = [[str(value) for value in line.values()][1:] for line in entries]
                assert words == [line.split() for line in lines]
                assert summary["damage"] is None
                compared += len(words)
    assert compared > 900


def test_every_properties_file_of_the_disks_is_read(json_look: Any) -> None:
    for scenario in SCENARIOS:
        disks = broker_disks.unpacked(scenario) / "disks"
        for path in sorted(disks.rglob("meta.properties")):
            _, entry, _ = json_look(path)
            assert f"cluster.id={entry['cluster_id']}" in path.read_text().splitlines()
            numbers = (f"broker.id={entry['broker_id']}", f"node.id={entry['broker_id']}")
            assert any(number in path.read_text().splitlines() for number in numbers)
        for path in sorted(disks.rglob("partition.metadata")):
            _, entry, _ = json_look(path)
            assert path.read_text().splitlines() == [
                f"version: {entry['version']}",
                f"topic_id: {entry['topic_id']}",
            ]
