"""What the lake holds of one partition between two offsets."""

from pathlib import Path

import pytest

from seglake.kafka_log.replica import PartitionKey
from seglake.lake.delta_tables import LakeTables
from seglake.lake.table_view import read_snapshots
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS
from seglake.pipelines.lake_audit.disk_check.lake_rows import LakeRows, Quarantined
from seglake.pipelines.lake_audit.disk_check.ledger_rows import LedgerFacts
from seglake.pipelines.lake_audit.ledger import LakePartition
from seglake.storage.local_storage import LocalStorage
from support.encoder import DEFAULT_CLUSTER_ID, Partition, Segment
from support.faults import bad_crc
from support.lakes import ingested
from support.made_logs import made_batches, write_over

_LEDGER = ({"start_offset": 0, "next_offset": 30, "kind": "ingest", "generation": 1},)


def _ledger_of(key: PartitionKey) -> LedgerFacts:
    return LedgerFacts.of(LakePartition(DEFAULT_CLUSTER_ID, key), _LEDGER)


@pytest.fixture
def partition(data: Path, lake: Path) -> LakeRows:
    """A partition of which offsets 5 to 9 are quarantined; another one has the same offsets."""
    one, two, *rest = made_batches("orders", 0, range(30))
    logs = [
        Partition("orders", 0, [Segment(0, [one, bad_crc(two), *rest])]),
        Partition("orders", 1, [Segment(0, made_batches("orders", 1, range(30)))]),
    ]
    ingested(write_over(data, logs, broker_id=4), lake)
    tables = [RECORDS, BATCHES, GAPS, QUARANTINE]
    snapshots = read_snapshots(LakeTables(str(lake), LocalStorage()), tables)
    return LakeRows(
        LocalStorage(),
        _ledger_of(PartitionKey("orders", 0, None)),
        True,
        {table.name: snapshots[table.name].files for table in tables},
    )


def test_records_between_two_offsets_are_of_the_partition_alone(partition: LakeRows) -> None:
    rows = partition.payloads(3, 12)
    assert rows.column("offset").to_pylist() == [3, 4, 10, 11, 12]
    assert rows.column("value")[0].as_py().startswith(b"orders-0@3")


@pytest.mark.parametrize(
    ("offsets", "batches", "gaps"),
    [((4, 10), [0, 10], [5]), ((5, 9), [], [5]), ((10, 14), [10], []), ((14, 15), [10, 15], [])],
)
def test_batches_and_gaps_that_reach_into_a_range_are_given(
    offsets: tuple[int, int], batches: list[int], gaps: list[int], partition: LakeRows
) -> None:
    assert partition.batches_at(*offsets).column("base_offset").to_pylist() == batches
    assert partition.gaps_at(*offsets).column("start_offset").to_pylist() == gaps


def test_quarantined_bytes_are_those_of_one_broker(partition: LakeRows) -> None:
    ((segment, position),) = partition.quarantined(4).places
    assert segment == f"orders-0/{0:020}.log"
    assert position == len(made_batches("orders", 0, range(5))[0].data)
    assert partition.quarantined(5) == partition.quarantined(None) == Quarantined()


def test_what_a_repair_resolved_is_no_longer_quarantined(
    partition: LakeRows, data: Path, lake: Path
) -> None:
    sound = [Partition("orders", 0, [Segment(0, made_batches("orders", 0, range(30)))])]
    ingested(write_over(data, sound, broker_id=7), lake)
    files = read_snapshots(LakeTables(str(lake), LocalStorage()), [QUARANTINE])[QUARANTINE.name]
    again = partition._replace(files={QUARANTINE.name: files.files})
    assert again.quarantined(4).places == frozenset()


def test_rows_without_a_topic_id_belong_to_the_first_id_only(partition: LakeRows) -> None:
    key = partition.partition.key._replace(topic_id="first")
    named = partition._replace(ledger=_ledger_of(key))
    assert named.payloads(0, 4).num_rows == 5
    assert named._replace(has_null_id=False).payloads(0, 4).num_rows == 0
    another = LakePartition("another", partition.partition.key)
    assert partition._replace(ledger=LedgerFacts.of(another, _LEDGER)).payloads(0, 4).num_rows == 0


def test_rows_of_a_commit_that_the_ledger_does_not_have_yet_are_left_out(
    partition: LakeRows,
) -> None:
    assert partition.payloads(0, 4).num_rows == 5
    older = [{**_LEDGER[0], "generation": 0}]
    ledger = LedgerFacts.of(partition.partition, older)
    assert partition._replace(ledger=ledger).payloads(0, 4).num_rows == 0
