"""Over which offsets replicas and the lake are compared, and with which batches."""

from dataclasses import replace
from pathlib import Path

import pytest

from seglake.ingest_steps.planning.partitions import (
    ListedPartition,
    SurveyedPartition,
)
from seglake.ingest_steps.replica_conflicts.conflict_requests import (
    lake_requests,
    replica_requests,
)
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.leader_epochs import OPEN_END, leader_epochs_of
from seglake.kafka_log.log_bounds import bounds_of
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import Replica
from seglake.kafka_log.replica_selection import OtherReplica, PartitionChoice
from seglake.lake.delta_tables import LakeTables
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.segment_decoding.replica_compare_values import CompareRequest
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import LocalEngine
from support.encoder import DEFAULT_CLUSTER_ID, Partition, Segment
from support.lakes import ingested, local_scan
from support.made_logs import made_batches, write_over
from support.planned import beside, replica_with_epochs, survey, surveyed


def _other(broker_id: int, log_end_offset: int, divergence_offset: int = OPEN_END) -> OtherReplica:
    replica = replica_with_epochs(broker_id, log_end_offset, (0, 0))
    return OtherReplica(replica, (), log_end_offset, divergence_offset, divergence_offset)


def _partition(*others: OtherReplica) -> SurveyedPartition:
    return beside(surveyed(), *others)


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [((0, 100), [(0, 100), (0, 60)]), ((50, 90), [(50, 90), (50, 60)]), ((60, 90), [(60, 90)])],
)
def test_each_other_replica_is_compared_as_far_as_its_log_goes(
    offsets: OffsetRange, expected: list[OffsetRange]
) -> None:
    partition = _partition(_other(1, 130, 80), _other(2, 60))
    requests = list(replica_requests(partition, offsets, LocalStorage()))
    assert [request.offsets for request in requests] == expected
    assert {request.ours for request in requests} == {partition.replica}
    assert requests[0].theirs == partition.other_replicas[0].replica
    assert requests[0].divergence_offset == 80


def _of_lake(
    data: Path, lake: Path, choice: PartitionChoice, ranges: list[OffsetRange]
) -> list[CompareRequest]:
    """Against a lake with offsets 0 to 39 of leader epoch 1, of which it covers some ranges."""
    logs = [
        Partition(
            "orders",
            number,
            [Segment(0, made_batches("orders", number, range(40), leader_epoch=1))],
            leader_epochs=((1, 0),),
        )
        for number in (0, 1)
    ]
    ingested(write_over(data, logs), lake)
    log = replace(PartitionLedger.covering(choice.chosen.key, ranges), owns_unnamed=True)
    bounds = bounds_of(choice.chosen, choice.surveys, Settings().read_policy)
    listed = ListedPartition((choice.chosen,), log)
    partition = SurveyedPartition(listed, choice, bounds, ())
    with LocalEngine(1) as engine:
        tables = LakeTables(str(lake), LocalStorage())
        scan = local_scan(Settings(), engine)
        context = RunContext.begun(scan, tables, DEFAULT_CLUSTER_ID)
        return list(lake_requests(partition, context))


def test_the_lake_is_compared_with_a_replica_from_where_it_diverges(data: Path, lake: Path) -> None:
    chosen = replica_with_epochs(1, 40, (1, 0))
    choice = PartitionChoice(
        chosen,
        (survey(0, 40),),
        leader_epochs_of(chosen.epochs, 40),
        (_other(2, 33, 12), _other(3, 40)),
        (),
    )
    requests = _of_lake(data, lake, choice, [(0, 20), (30, 40)])
    assert [request.offsets for request in requests] == [(12, 20), (30, 33)]
    assert {request.divergence_offset for request in requests} == {12}
    assert {request.theirs for request in requests} == {choice.other_replicas[0].replica}
    assert [_heads(request) for request in requests] == [
        [(10, 1, True), (15, 1, True)],
        [(30, 1, True)],
    ]


def _heads(request: CompareRequest) -> list[tuple[int, int | None, bool]]:
    assert not isinstance(request.ours, Replica)
    return [(head.first_offset, head.leader_epoch, head.is_dense) for head in request.ours]
