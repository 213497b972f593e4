"""What ingest, audit and report say was recovered, beside what Kafka's own tools say was there."""

from collections import Counter

import pytest

from seglake.findings.loss_causes import Loss, NoLoss
from seglake.findings.recovery import PartitionRecovery, Recovery
from support import broker_disks
from support.broker_disks import PartitionFacts
from support.cases import cases, shared
from support.conversions import DAMAGED_COPIES, DISK_COPIES, Conversions, DiskCopy
from support.converted import KNOWN_BOUNDS, LOCAL_STARTS, Log
from support.corrupt_cases import CorruptCase
from support.corrupt_outcomes import corrupt_outcome
from support.oracle import Isolation, expected_records

_COPIES = shared(cases(DISK_COPIES, telling=lambda copy: copy.is_telling, name="-".join))


def _lost(found: PartitionRecovery) -> dict[Loss, int]:
    return {cause: gaps.offsets for cause, gaps in found.lost.items()}


def _by_name(found: Recovery) -> dict[str, PartitionRecovery]:
    return {each.name: each for each in found.partitions}


def _high_watermark(case: CorruptCase) -> int:
    """What the broker wrote of the only partition; 0 where nobody can read it."""
    path = case.log_dir / "replication-offset-checkpoint"
    lines = path.read_text("utf-8", "replace").splitlines()[2:] if path.is_file() else []
    marks = [line.split() for line in lines]
    log = [case.topic, str(case.partition)]
    return max((int(mark[2]) for mark in marks if mark[:2] == log), default=0)


def _bound(copy: DiskCopy, facts: PartitionFacts) -> int:
    log = Log(copy.scenario, copy.copy, facts.topic, facts.partition)
    bound = KNOWN_BOUNDS.get(log, facts.high_watermark)
    if copy.isolation is Isolation.READ_COMMITTED and facts.last_stable_offset is not None:
        return min(bound, facts.last_stable_offset)
    return bound


@pytest.mark.parametrize("copy", _COPIES)
def test_figures_are_those_of_the_consumer_of_every_disk(
    copy: DiskCopy, conversions: Conversions
) -> None:
    found = _by_name(conversions.of_copy(copy).report.recovery)
    for facts in broker_disks.partitions(copy.scenario, copy.copy):
        name = f"{facts.topic}-{facts.partition}"
        log, each = Log(copy.scenario, copy.copy, facts.topic, facts.partition), found[name]
        local, bound = LOCAL_STARTS.get(log, 0), _bound(copy, facts)
        consumed = expected_records(
            copy.scenario, copy.copy, facts.topic, facts.partition, copy.isolation
        )
        assert each.records == sum(local <= record.offset < bound for record in consumed), name
        waits = bound < KNOWN_BOUNDS.get(log, facts.high_watermark)
        waiting = Loss.OPEN_TRANSACTION if waits else Loss.HIGH_WATERMARK
        expected = {Loss.REMOTE: local, waiting: facts.high_watermark - bound}
        assert _lost(each) == {cause: count for cause, count in expected.items() if count}, name
        assert each.no_loss.get(NoLoss.DELETED, 0) == facts.log_start_offset, name
        kept = each.records + sum(each.no_loss.values())
        assert kept + sum(_lost(each).values()) == facts.high_watermark, name


@pytest.mark.parametrize("name", DAMAGED_COPIES)
def test_figures_are_those_of_the_manifest_of_every_damaged_disk(
    name: str, conversions: Conversions
) -> None:
    outcome = corrupt_outcome(name)
    (found,) = conversions.of_damaged(name).report.recovery.partitions
    gaps: Counter[str] = Counter()
    for gap in outcome.gaps:
        gaps[gap.cause] += gap.next_offset - gap.start_offset
    causes = {str(cause): count for cause, count in _lost(found).items() if not cause.waits}
    proved = max(0, _high_watermark(outcome.case) - outcome.next_offset)
    expected = {cause: gaps[cause] for cause in ("missing", "quarantined")} | {
        "not_on_disk": proved
    }
    assert causes == {cause: count for cause, count in expected.items() if count}
    assert found.records == len(outcome.records)
    kept = found.records + sum(found.no_loss.values())
    assert kept + sum(causes.values()) == outcome.next_offset + proved
    for cause in (NoLoss.COMPACTED, NoLoss.DELETED):
        assert found.no_loss.get(cause, 0) == gaps[cause]


@pytest.mark.parametrize("copy", _COPIES)
def test_ingest_audit_and_report_say_the_same(copy: DiskCopy, conversions: Conversions) -> None:
    made = conversions.of_copy(copy)
    report = made.report.recovery.to_mapping()
    assert made.audit.recovery.to_mapping() == report
    assert made.summary.recovery.to_mapping() == report


@pytest.mark.parametrize("name", DAMAGED_COPIES)
def test_ingest_audit_and_report_say_the_same_of_damaged_disks(
    name: str, conversions: Conversions
) -> None:
    made = conversions.of_damaged(name)
    report = made.report.recovery.to_mapping()
    assert made.audit.recovery.to_mapping() == report
    assert made.summary.recovery.to_mapping() == report


def test_padding_is_neither_lost_nor_waited_for(conversions: Conversions) -> None:
    made = conversions.of_damaged("zero_tail__v2-none")
    (partition,) = made.report.partitions
    assert (partition.findings, partition.recovery.lost) == ((), {})
    assert all("padding" in note for note in made.summary.notes)
