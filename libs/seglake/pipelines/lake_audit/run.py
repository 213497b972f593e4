"""Steps of an audit. Reads the lake, writes nothing."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.shown_offsets import named
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, merged
from seglake.lake.delta_tables import LakeTables
from seglake.lake.lake_folder import opening
from seglake.log_tables.begun_erasures import BegunErasure, begun_erasures
from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_audit.lake_proof import ProofAnswers, prove
from seglake.pipelines.lake_audit.lake_state import LakeState, read_state
from seglake.pipelines.lake_audit.latest_proof import LatestState, prove_latest, read_latest_state
from seglake.pipelines.lake_audit.ledger import LakePartition, Row
from seglake.pipelines.lake_audit.left_logs import left_logs, still_unread, unread
from seglake.pipelines.lake_audit.partition_audit import (
    PartitionAudit,
    PartitionFacts,
    audit_partition,
)
from seglake.pipelines.lake_audit.recovered import recovery_of
from seglake.pipelines.lake_audit.typed_proof import prove_typed
from seglake.pipelines.lake_audit.typed_state import TypedState, read_typed_state
from seglake.progress.progress_views import Unit
from seglake.progress.run_reporter import RunReporter
from seglake.proof.engines import SMALL_BYTES, DuckDBProof, SparkProof
from seglake.proof.queries import queries
from seglake.segment_codec.formats.errors import DefectCode
from seglake.storage.storage import Storage
from seglake.task_engine.engine import Engine

_NOT_SPARK_S = ("s3://", "s3a://")  # Spark may have no client for these schemes
# Problems that an unfinished commit may cause.
_OF_COMMITS = (FindingKind.OUTSIDE_LEDGER, FindingKind.BYTES)


def audit(
    lake: str,
    storage: Storage,
    engine: Engine,
    reporter: RunReporter,
    *,
    spill_folder: str,
    small_bytes: int = SMALL_BYTES,
) -> LakeAudit:
    """Prove from the tables alone that every covered offset is accounted for.

    Args:
        lake: the lake's path or URI.
        storage: the storage of the lake.
        engine: a Spark engine runs the proof if the lake is large; otherwise DuckDB runs it.
        reporter: shows the steps.
        spill_folder: folder for data that exceeds DuckDB's memory.
        small_bytes: size of all data files below which a lake is small.

    Raises:
        LakeFolderError: there is no lake, or its storage denies access.
        SeglakeError: the ledger cannot be read, or the proof could not be run.
    """
    path = storage.locate(lake)
    reporter.step("reading the ledger")
    tables = LakeTables(path, storage)
    state, typed_state, latest_state, begun = _read(tables)
    is_small = _size_bytes(state) < small_bytes
    reporter.step("auditing the tables")
    with (
        _proof(tables, state, engine, spill_folder=spill_folder, is_small=is_small) as proof,
        reporter.measuring(len(queries()), Unit.QUERIES) as whole,
    ):
        answers = prove(proof, state, storage, on_done=whole.advance)
        typed = None if typed_state is None else prove_typed(proof, typed_state)
        latest = None if latest_state is None else prove_latest(proof, latest_state, state)
    partitions = tuple(_partitions(state, answers))
    covered = _covered_ranges(partitions)
    places = still_unread(state.unread, covered)
    return LakeAudit(
        lake=path,
        partitions=partitions,
        problems=(*answers.problems, *_lake_problems(state, partitions, covered, places)),
        notes=tuple(state.unsettled.values()),
        recovery=recovery_of(partitions, state.seen, places),
        salvaged=answers.salvaged,
        typed=typed,
        latest=latest,
        not_erased=tuple(_not_erased(erasure, path) for erasure in begun),
    )


class _Read(NamedTuple):
    state: LakeState
    typed: TypedState | None
    latest: LatestState | None
    begun: Sequence[BegunErasure]


def _read(tables: LakeTables) -> _Read:
    """Read the state of a lake, after the states of the tables derived from it."""
    tables.require()
    with opening(tables.lake_path):
        sources, begun = tables.source_ids(), begun_erasures(tables)
        typed_state = read_typed_state(tables, sources, begun)
        latest_state = read_latest_state(tables, sources)
        return _Read(read_state(tables), typed_state, latest_state, begun)


def _not_erased(erasure: BegunErasure, lake: str) -> Finding:
    facts = {"topics": [*erasure.topics], "run_id": erasure.run_id, "begun_at": erasure.begun_at}
    return Finding(FindingKind.NOT_ERASED, erasure.text(lake), facts=facts)


def _proof(
    tables: LakeTables,
    state: LakeState,
    engine: Engine,
    *,
    spill_folder: str,
    is_small: bool,
) -> DuckDBProof | SparkProof:
    """Return the engine that runs the proof, Spark or DuckDB, for a `with` block."""
    may_be_spark = not is_small and not tables.lake_path.startswith(_NOT_SPARK_S)
    if may_be_spark and (spark := engine.spark_context()) is not None:
        return SparkProof(spark)
    topics = [partition.key.topic for partition in state.rows]
    return DuckDBProof(tables, topics, spill_folder=spill_folder, is_small=is_small)


def _partitions(state: LakeState, answers: ProofAnswers) -> Iterator[PartitionAudit]:
    nothing = PartitionFacts((), {})
    for partition in dict.fromkeys([*state.rows, *answers.partitions]):
        facts = answers.partitions.get(partition, nothing)
        topic = partition.source_id, partition.key.topic
        if topic in state.unsettled:
            # While rows are removed, the ledger still has them: the lake has one problem for all.
            others = () if topic in state.removing else facts.problems
            settled = [found for found in others if found.kind not in _OF_COMMITS]
            facts = facts._replace(problems=settled)
        rows, seen = state.rows.get(partition, ()), state.seen.get(partition)
        yield audit_partition(partition, rows, facts, seen)


def _size_bytes(state: LakeState) -> int:
    """Return the size of all data files of the lake."""
    return sum(file.size_bytes for found in state.snapshots.values() for file in found.files)


def _covered_ranges(
    partitions: Iterable[PartitionAudit],
) -> dict[LakePartition, list[OffsetRange]]:
    """Return the covered ranges of each partition, including superseded ranges."""
    return {each.partition: merged([*each.covered, *each.superseded.ranges]) for each in partitions}


def _lake_problems(
    state: LakeState,
    partitions: Collection[PartitionAudit],
    covered: Mapping[LakePartition, Iterable[OffsetRange]],
    places: Iterable[Row],
) -> Iterator[str]:
    """Yield the problems of the lake as a whole, and of logs that are not in its tables."""
    yield from state.broken.values()
    yield from _removing(state)
    yield from _empty_lake(state)
    yield from _damage_alone(partitions) if state.rows else ()
    yield from left_logs(state.seen, covered)
    yield from unread(places)


def _removing(state: LakeState) -> Iterator[str]:
    """Yield a problem for each topic that loses rows in a commit that is not in every table yet."""
    for topic in sorted(state.removing & state.unsettled.keys()):
        yield (
            f"{topic[1]}: records are being removed, so its rows cannot be audited now: audit again"
            " when the run has ended. If it was killed, the next ingest, maintain or erase"
            " completes its commit"
        )


def _damage_alone(partitions: Iterable[PartitionAudit]) -> Iterator[str]:
    """Yield a problem if some partitions have only damaged bytes in the lake."""
    names = [str(each.partition) for each in partitions if _is_damage_alone(each)]
    if names:
        yield f"no record was ingested of {named(names)}: all of it is damaged"


def _is_damage_alone(audit: PartitionAudit) -> bool:
    """Return whether damage accounts for all covered offsets."""
    codes = audit.quarantine.by_code.keys() - {str(DefectCode.REPLICA_CONFLICT)}
    hidden = audit.gaps.get(GapCause.QUARANTINED)
    return bool(codes) and audit.covered_offsets == (0 if hidden is None else hidden.offsets)


def _empty_lake(state: LakeState) -> Iterable[str]:
    """Yield the problem of a lake whose ledger has no row."""
    if state.rows:
        return
    begun = state.begun or any(snapshot.files for snapshot in state.snapshots.values())
    yield "nothing was ingested: the ledger has no row; " + (
        "a run began, and died before its first commit was complete: run seglake ingest again"
        if begun
        else "no run has committed anything: run seglake ingest, and read its summary"
    )
