"""Dumps are read whole: batches follow each other without a hole and hold the oracle's records."""

import pytest

from support import broker_disks, corrupt_cases, oracle
from support.dumps import Dump, DumpBatch, dump_batches, parse_dump

PLACES = [
    pytest.param(scenario, copy, log_dir, id=f"{scenario}-{copy}-{log_dir.broker}-{log_dir.name}")
    for scenario in broker_disks.SCENARIOS
    for copy in broker_disks.copies(scenario)
    for log_dir in broker_disks.log_dirs(scenario, copy)
]
TIER_CACHE = "remote-log-index-cache"
V2_LINE = (
    "baseOffset: 213 lastOffset: 214 count: 2 baseSequence: 96 lastSequence: 97 producerId: 0"
    " producerEpoch: 0 partitionLeaderEpoch: 4 isTransactional: false isControl: false"
    " deleteHorizonMs: OptionalLong[1795232670852] position: 299 CreateTime: 1795212921503"
    " size: 198 magic: 2 compresscodec: none crc: 4166851290 isvalid: true"
)


def test_v2_batch_line_is_read_field_by_field() -> None:
    assert dump_batches(f"Dumping t-0/00000000000000000200.log\n{V2_LINE}\n") == [
        DumpBatch(
            file_name="00000000000000000200.log",
            position=299,
            size_bytes=198,
            magic=2,
            codec="none",
            crc=4166851290,
            is_valid=True,
            last_offset=214,
            timestamp_type="CreateTime",
            max_timestamp_ms=1795212921503,
            base_offset=213,
            record_count=2,
            base_sequence=96,
            last_sequence=97,
            producer_id=0,
            producer_epoch=0,
            leader_epoch=4,
            is_transactional=False,
            is_control=False,
            delete_horizon_ms=1795232670852,
        )
    ]


def test_value_that_looks_like_dump_text_is_not_read_as_such() -> None:
    text = "Dumping t-0/00000000000000000000.log\n| offset: 0 payload: x\noffset: 3 position: 5\n"
    assert parse_dump(text).batches == []
    assert parse_dump(text).offset_entries == []


@pytest.mark.parametrize(("scenario", "copy", "log_dir"), PLACES)
def test_dumped_batches_lie_end_to_end_in_the_files(
    scenario: str, copy: str, log_dir: broker_disks.LogDir
) -> None:
    folders = [path for path in log_dir.path.iterdir() if path.is_dir() and path.name != TIER_CACHE]
    for folder in sorted(folders):
        found = _dump_of(scenario, copy, log_dir, folder.name)
        assert {batch.file_name for batch in found.batches} <= {p.name for p in folder.iterdir()}
        for name in {batch.file_name for batch in found.batches}:
            batches = found.batches_of(name)
            ends = [batch.position + batch.size_bytes for batch in batches]
            assert [batch.position for batch in batches] == [0, *ends[:-1]]
            assert ends[-1] <= (folder / name).stat().st_size
            assert all(batch.is_valid for batch in batches)


def test_index_entries_of_all_kinds_are_read() -> None:
    found = oracle.partition_dump("06_transactions", "live", "tx-a", 0)
    assert found.offset_entries[0] == ("00000000000000000000.index", 11, 616)
    assert found.time_entries
    assert found.aborted_transactions[0] == ("00000000000000000000.txnindex", 0, 0, 28, 53, 54)
    assert found.producers


def test_control_records_have_their_marker() -> None:
    found = oracle.partition_dump("06_transactions", "live", "tx-a", 0)
    markers = {(record.offset, record.marker) for record in found.records if record.marker}
    controls = {batch.base_offset for batch in found.batches if batch.is_control}
    assert {offset for offset, _ in markers} == controls
    assert {marker for _, marker in markers} == {"COMMIT", "ABORT"}
    assert (53, "ABORT") in markers


def test_what_the_tool_said_of_damage_is_kept_as_notes() -> None:
    found = corrupt_cases.damaged_dump(corrupt_cases.corrupt_case("length_zero__v2-none"))
    assert found is not None
    assert any("CorruptRecordException" in text for _, text in found.notes)
    flipped = corrupt_cases.damaged_dump(corrupt_cases.corrupt_case("flip_crc__v2-none"))
    assert flipped is not None
    assert [batch.is_valid for batch in flipped.batches].count(False) == 1


def _dump_of(scenario: str, copy: str, log_dir: broker_disks.LogDir, folder: str) -> Dump:
    brokers = {found.broker for found in broker_disks.log_dirs(scenario, copy)}
    prefix = f"{log_dir.broker}." if len(brokers) > 1 else ""
    if log_dir.name != "data":
        prefix = f"{log_dir.name}."
    stem, _, partition = folder.rpartition("-")
    name = oracle.oracle_name(stem, int(partition)) if partition.isdigit() else folder
    return oracle.folder_dump(scenario, copy, prefix + name)
