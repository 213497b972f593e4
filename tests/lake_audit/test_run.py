"""What the audit says of real lakes is what another engine counts, and nothing is unexplained."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from seglake.pipelines.lake_audit.disk_check.disk_check_report import exit_code, to_mapping
from seglake.proof.queries import (
    PROVED_TABLES,
    Purpose,
    any_problem,
    first_problems,
    queries,
)
from seglake.task_engine.engine import LocalEngine, SparkEngine
from support.accounts import imbalances_of
from support.audits import assert_agrees, audited, checked, kinds
from support.broker_disks import CORRUPT_CASES
from support.cases import cases, every, shared
from support.conversions import DISK_COPIES, TELLING_DAMAGE, Conversions, DiskCopy
from support.corrupt_cases import corrupt_case
from support.corrupt_outcomes import corrupt_outcome
from support.encoder import Partition
from support.lakes import ingested, read_arrow
from support.made_logs import TOPIC_IDS, made_segments, make_log_dir, write_over

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SAMPLE = Path(__file__).parents[2] / "samples" / "broker-0"
# What is gone without a trace, and must be said.
_LOST_WITHOUT_TRACE = {
    *("empty_segment__v2", "foreign_segment__v2", "missing_segment__v2"),
    "truncated_at_border__v2",
}
_NO_CLUSTER_ID = {"topic_id_missing__v2"}
# With holes, transactions, a log start, replicas that disagree, a remote tier.
_TELLING = {"05_compacted", "06_transactions", "07_delete_records", "08_replicas", "12_tiered"}
_COPIES = shared(
    cases(
        DISK_COPIES,
        telling=lambda copy: copy.is_telling and copy.scenario in _TELLING,
        name="-".join,
    )
)
_RESOLVED = "inner_partial__v1"  # its offsets are known by neighbours alone
_TELLING_DAMAGE = {*TELLING_DAMAGE, *_LOST_WITHOUT_TRACE} - _NO_CLUSTER_ID
_SOME_DAMAGED = shared(
    cases(
        sorted({*_TELLING_DAMAGE, *every(6, CORRUPT_CASES)} - _NO_CLUSTER_ID),
        telling={_RESOLVED, *_LOST_WITHOUT_TRACE, *every(2, sorted(_TELLING_DAMAGE))}
        - _NO_CLUSTER_ID,
    )
)


def _assert_equals_disks(
    disks: Path, lake: Path, *, doubled: int = 0, has_bad_files: bool = False
) -> None:
    """Nothing differs, and each record of the lake is equal on the copy that was read.

    Args:
        doubled: how many records are twice on the disk.
        has_bad_files: files beside the logs are damaged, which a person should see.
    """
    checks = checked(disks, lake)
    assert exit_code(checks) == (3 if has_bad_files else 0)
    best: dict[str, int] = {}
    for check in checks:
        best[check.partition] = max(best.get(check.partition, 0), check.report.equal)
    assert sum(best.values()) == read_arrow(lake, "records").num_rows + doubled


@pytest.mark.parametrize("copy", _COPIES)
def test_every_offset_of_a_broker_s_disk_is_explained(
    copy: DiskCopy, conversions: Conversions
) -> None:
    made = conversions.of_copy(copy)
    lake, found = made.lake, made.audit
    assert (kinds(found), found.problems, found.notes, found.exit_code) == (set(), (), (), 0)
    assert_agrees(found, lake)
    _assert_equals_disks(copy.disks, lake)


@pytest.mark.parametrize("name", _SOME_DAMAGED)
def test_damage_is_explained_unless_it_left_no_trace(name: str, conversions: Conversions) -> None:
    made = conversions.of_damaged(name)
    lake, found = made.lake, made.audit
    is_lost = name in _LOST_WITHOUT_TRACE
    is_cut_off = name.startswith("truncated_") and corrupt_outcome(name).is_more_left
    assert kinds(found) == ({"missing"} if is_lost else set())
    has_bad_files = name.startswith("checkpoints_garbage")
    assert found.exit_code == (3 if is_lost or is_cut_off or has_bad_files else 0)
    assert any("not on disk" in problem for problem in found.problems) == is_cut_off
    assert_agrees(found, lake)
    case = corrupt_case(name)
    doubled = sum(map(len, case.duplicated_offsets))
    _assert_equals_disks(case.log_dir, lake, doubled=doubled, has_bad_files=has_bad_files)


def test_a_lake_of_many_runs_adds_up(tmp_path: Path) -> None:
    data, lake = tmp_path / "data", tmp_path / "lake"
    for end in range(10, 50, 10):
        make_log_dir(data, {("orders", 0): [0, end], ("orders", 1): [0, 2 * end]})
        ingested(data, lake)
        found = audited(lake)
        assert (kinds(found), found.exit_code) == (set(), 0)
    assert [partition.covered for partition in found.partitions] == [((0, 40),), ((0, 80),)]
    assert_agrees(found, lake)


def test_a_topic_made_again_is_audited_under_each_id(tmp_path: Path) -> None:
    data, lake = tmp_path / "data", tmp_path / "lake"
    for topic_id in ("orders", "orders again"):
        segments = made_segments("orders", 0, [0, 20])
        write_over(data, [Partition("orders", 0, segments, topic_id=TOPIC_IDS[topic_id])])
        ingested(data, lake)
    found = audited(lake)
    assert found.exit_code == 0
    assert [partition.covered for partition in found.partitions] == [((0, 20),), ((0, 20),)]
    assert len({partition.partition.key.topic_id for partition in found.partitions}) == 2


def test_a_repaired_lake_adds_up(tmp_path: Path) -> None:
    orders, lake = ("orders", 0), tmp_path / "lake"
    damaged = make_log_dir(tmp_path / "a", {orders: [0, 40]}, broker_id=0)
    log = damaged / "orders-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes().replace(b"orders-0@17", b"orders-0@71"))
    ingested(damaged, lake)
    (before,) = audited(lake).partitions
    assert before.gaps["quarantined"] == (1, 5, ((15, 20),))
    other = make_log_dir(tmp_path / "b", {orders: [0, 40]}, broker_id=1)
    ingested([damaged, other], lake)
    found = audited(lake)
    (after,) = found.partitions
    assert (kinds(found), found.exit_code) == (set(), 0)
    assert (after.gaps, after.totals.records, after.quarantine.resolved) == ({}, 40, 1)
    assert [check.report.equal for check in checked([damaged, other], lake)] == [35, 40]
    assert imbalances_of(lake) == []


@pytest.mark.spark
def test_spark_understands_every_query_of_the_proof(spark_session: "SparkSession") -> None:
    """Without running them, which `test_engines_agree` does."""
    from pyspark.sql.pandas.types import from_arrow_schema

    session = spark_session.newSession()
    for table in PROVED_TABLES:
        empty = session.createDataFrame([], from_arrow_schema(table.schema))
        empty.createOrReplaceTempView(table.name)
    for query in queries():
        if query.purpose is Purpose.CHECK:
            assert session.sql(any_problem(query)).columns == ["one"]
            assert session.sql(first_problems(query)).columns == ["log", "said", "total"]
            continue
        frame = session.sql(query.sql)
        session.createDataFrame([], frame.schema).createOrReplaceTempView(query.name)


@pytest.mark.spark
def test_spark_and_the_pool_of_processes_compare_disks_alike(
    spark_session: "SparkSession", tmp_path: Path
) -> None:
    ingested(_SAMPLE, tmp_path / "lake")
    small = {"split_bytes": 65536, "window_bytes": 65536}
    disks = to_mapping(checked(_SAMPLE, tmp_path / "lake"))
    with LocalEngine(2) as pool:
        for engine in (SparkEngine(spark_session.sparkContext), pool):
            checks = checked(_SAMPLE, tmp_path / "lake", engine=engine, **small)
            assert to_mapping(checks) == disks
