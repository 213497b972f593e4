"""What needs a look, from what was seen of a log and what the tables have of it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import pytest

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.loss_causes import LOSS_ABOVE, Loss
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import LeftRange, Observation, StoppedBy
from seglake.kafka_log.replica import PartitionKey
from seglake.pipelines.lake_report.damage import PartitionDamage
from seglake.pipelines.lake_report.findings import findings_of
from seglake.pipelines.lake_report.model import DamagedPlace, Level, level_of

_NOW = datetime(2026, 11, 2, tzinfo=UTC)
_SEEN = Observation(
    key=PartitionKey("orders", 0, "id1"),
    broker_id=1,
    log_start_offset=0,
    high_watermark=100,
    last_stable_offset=100,
    log_end_offset=150,
    next_offset=100,
    first_log_end_offset=120,
    waiting_since=_NOW - timedelta(hours=5),
    stopped_by=StoppedBy.HIGH_WATERMARK,
    observed_at=_NOW,
    run_id="r",
)
_RANGES = GapRanges(1, 50, ((100, 150),))


def _found(
    seen: Observation | None = None,
    lost: Mapping[Loss, GapRanges] = MappingProxyType({}),
    damage: PartitionDamage | None = None,
    told: tuple[Finding, ...] = (),
    stuck_after: timedelta | None = None,
) -> tuple[Finding, ...]:
    return findings_of(
        lost, seen, damage or PartitionDamage(), told, now=_NOW, stuck_after=stuck_after
    )


@pytest.mark.parametrize("loss", Loss)
def test_a_partition_with_loss_is_never_fine(loss: Loss) -> None:
    (found,) = _found(lost={loss: _RANGES})
    assert found.text == "50 offsets in [100, 150)"
    is_known = loss.waits or loss is Loss.NEVER_INGESTED
    assert level_of(found.kind) is (Level.KNOWN if is_known else Level.LOOK)


def test_bound_that_stands_still_longer_than_the_limit_needs_a_look() -> None:
    (found,) = _found(_SEEN, stuck_after=timedelta(hours=4))
    assert found == Finding(FindingKind.STUCK, "5 h, 30 offsets")
    assert _found(_SEEN, stuck_after=timedelta(hours=6)) == ()


@pytest.mark.parametrize(
    ("stop", "need", "level"),
    [
        (StoppedBy.REFUSED, FindingKind.REFUSED, Level.LOOK),
        (StoppedBy.UNREAD, FindingKind.LEFT_OUT, Level.LOOK),
        (StoppedBy.NO_SEGMENT, FindingKind.NOT_ON_DISK, Level.LOOK),
        (StoppedBy.OPEN_TRANSACTION, FindingKind.OPEN_TRANSACTION, Level.KNOWN),
        (StoppedBy.NO_HIGH_WATERMARK, FindingKind.NO_HIGH_WATERMARK, Level.LOOK),
        (StoppedBy.LOST_ELECTION, FindingKind.LOST_ELECTION, Level.KNOWN),
        (StoppedBy.TAIL, FindingKind.TAIL, Level.KNOWN),
    ],
)
def test_what_stopped_a_run_is_told_with_its_level(
    stop: StoppedBy, need: FindingKind, level: Level
) -> None:
    left = (LeftRange("why", 100, 150),)
    lost = {LOSS_ABOVE[stop]: _RANGES} if stop in LOSS_ABOVE and stop is not StoppedBy.TAIL else {}
    detail = "what" if stop in (StoppedBy.REFUSED, StoppedBy.UNREAD) else None
    (found,) = _found(replace(_SEEN, stopped_by=stop, detail=detail, not_ingested=left), lost)
    assert (found.kind, level_of(found.kind)) == (need, level)
    assert found.text in ("what; why", "why", "50 offsets in [100, 150)")


def test_what_is_proved_and_not_on_the_disk_is_told_beside_what_stopped_a_run() -> None:
    left = (LeftRange("not on disk: the recovery point says 12", 9, 12),)
    seen = replace(_SEEN, stopped_by=StoppedBy.TAIL, not_ingested=left)
    lost = {Loss.NOT_ON_DISK: GapRanges(1, 3, ((9, 12),))}
    assert [(found.kind, found.text) for found in _found(seen, lost)] == [
        (FindingKind.NOT_ON_DISK, "3 offsets in [9, 12): the recovery point says 12"),
        (FindingKind.TAIL, ""),
    ]
    assert [found.kind for found in _found(seen)] == [FindingKind.TAIL]  # the lake has them by now


def test_partition_without_a_segment_of_which_nothing_is_proved_is_fine() -> None:
    assert _found(replace(_SEEN, stopped_by=StoppedBy.NO_SEGMENT)) == ()


def test_lost_offsets_are_told_with_the_first_places_the_most_urgent_need_first() -> None:
    ranges = tuple((start, start + 2) for start in range(0, 50, 10))
    lost = {
        Loss.QUARANTINED: GapRanges(1, 1, ((7, 8),)),
        Loss.MISSING: GapRanges(5, 10, ranges),
    }
    assert _found(lost=lost) == (
        Finding(FindingKind.MISSING, "10 offsets in [0, 2), [10, 12), [20, 22), …"),
        Finding(FindingKind.QUARANTINED, "1 offset in [7, 8)"),
    )


def test_what_the_run_says_goes_before_what_the_tables_say() -> None:
    told = (Finding(FindingKind.REFUSED, "said by the run"),)
    assert _found(replace(_SEEN, stopped_by=StoppedBy.REFUSED), told=told) == told


@pytest.mark.parametrize(
    ("verb", "need", "level"),
    [
        ("differs from", FindingKind.REPLICAS_DIFFER, Level.LOOK),
        ("lost an election to", FindingKind.LOST_TAIL, Level.KNOWN),
    ],
)
def test_replicas_that_differ_need_a_look_and_lost_elections_are_worth_knowing(
    verb: str, need: FindingKind, level: Level
) -> None:
    detail = f"leader epoch 1, offsets 0 to 4 {verb} leader epoch 1, offsets 0 to 4"
    place = _place("replica_conflict", detail)
    found = _found(damage=PartitionDamage((place,), 1))
    assert [(finding.kind, level_of(finding.kind)) for finding in found] == [(need, level)]


@pytest.mark.parametrize(
    ("codes", "needs"),
    [
        (["decompression_limit"], [FindingKind.TOO_LARGE]),
        (["decompression_limit", "crc_mismatch"], [FindingKind.TOO_LARGE, FindingKind.QUARANTINED]),
        (["crc_mismatch"], [FindingKind.QUARANTINED]),
    ],
)
def test_sound_batches_above_the_limit_need_no_other_replica(
    codes: list[str], needs: list[FindingKind]
) -> None:
    places = tuple(_place(code) for code in codes)
    lost = {Loss.QUARANTINED: GapRanges(1, 1, ((7, 8),))}
    found = _found(lost=lost, damage=PartitionDamage(places, len(places)))
    assert [finding.kind for finding in found] == needs


def _place(code: str, detail: str = "") -> DamagedPlace:
    return DamagedPlace(
        broker_id=1,
        segment="s",
        position=0,
        size_bytes=1,
        code=code,
        detail=detail,
        previous_offset=None,
        next_offset=None,
        run_id="r",
        is_resolved=False,
    )
