"""The rows of `quarantine` as places, and which of them were made good. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from seglake.pipelines.lake_report.ledger import Ledger, LogName, Row
from seglake.pipelines.lake_report.model import DamagedPlace
from seglake.segment_codec.errors import DefectCode

# Everything but `raw`: the damaged bytes may be anything, and never leave the table.
COLUMNS = (
    *("source_id", "topic_id", "topic", "partition", "broker_id", "segment", "position"),
    *("length_bytes", "defect_code", "defect_detail", "previous_offset", "next_offset"),
    *("raw_sha256", "resolution", "run_id", "generation"),
)

_NEVER = -1
_MOST_LISTED = 50  # of one partition


class Damage(NamedTuple):
    """The damage of one partition: the places listed, those that still stand first."""

    places: tuple[DamagedPlace, ...]
    place_count: int


class _Met(NamedTuple):
    row: Row
    damaged_at: int
    resolved_at: int


def damage_by_log(rows: Iterable[Row], ledger: Ledger) -> dict[LogName, Damage]:
    """The damage of every partition, without what is still being committed."""
    found: dict[LogName, dict[tuple[object, ...], _Met]] = {}
    for row in rows:
        generation, source_id = row["generation"] or 0, row["source_id"]
        if ledger.has_generation(source_id, row["topic"], generation):
            of_log = found.setdefault(ledger.name_of(source_id, row), {})
            _meet(of_log, row, generation)
    return {log: _damage([*of_log.values()]) for log, of_log in found.items()}


def _meet(of_log: dict[tuple[object, ...], _Met], row: Row, generation: int) -> None:
    # What is a conflict to the log that was read first may be damage to a retake.
    is_conflict = row["defect_code"] == DefectCode.REPLICA_CONFLICT
    place = (row["broker_id"], row["segment"], row["position"])
    identity = (*place, row["raw_sha256"], is_conflict)
    is_resolution = row["resolution"] is not None
    damaged_at = _NEVER if is_resolution else generation
    resolved_at = generation if is_resolution else _NEVER
    before = of_log.get(identity)
    if before is not None:
        damaged_at = max(damaged_at, before.damaged_at)
        resolved_at = max(resolved_at, before.resolved_at)
        row = before.row if is_resolution else row
    of_log[identity] = _Met(row, damaged_at, resolved_at)


def _damage(met: list[_Met]) -> Damage:
    places = sorted((_place(each) for each in met), key=_order)
    return Damage(tuple(places[:_MOST_LISTED]), len(places))


def _order(place: DamagedPlace) -> tuple[bool, str, int]:
    return place.is_resolved, place.segment, place.position


def _place(met: _Met) -> DamagedPlace:
    row = met.row
    return DamagedPlace(
        broker_id=row["broker_id"],
        segment=row["segment"] or "",
        position=row["position"] or 0,
        size_bytes=row["length_bytes"] or 0,
        code=row["defect_code"] or "",
        detail=row["defect_detail"] or "",
        previous_offset=row["previous_offset"],
        next_offset=row["next_offset"],
        run_id=row["run_id"] or "",
        is_resolved=met.resolved_at > _NEVER and met.resolved_at >= met.damaged_at,
    )
