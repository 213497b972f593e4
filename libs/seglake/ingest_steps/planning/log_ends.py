"""Plans how damage after the last valid batch of a log is recorded.

No range of offsets contains such damage, so the ledger cannot show whether an earlier run recorded
it. The rows of `quarantine` show it: a row describes the same damage if its bytes begin inside the
damage and end with the last damaged byte.
"""

from collections.abc import Iterable
from typing import NamedTuple

from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.ingest_steps.planning.plan import RangePlan, plan_end
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.segment_survey import EndDamage
from seglake.lake.tables import QUARANTINE
from seglake.segment_codec.formats.errors import DefectCode


class _Place(NamedTuple):
    """Columns of `quarantine` that identify a segment of one broker."""

    topic: str
    partition: int
    broker_id: int | None
    segment: str


def plan_ends(partitions: Iterable[SurveyedPartition], context: RunContext) -> list[RangePlan]:
    """Return plans for damage at the ends of logs that no earlier run has recorded."""
    planned: list[tuple[_Place, EndDamage, RangePlan]] = []
    for partition in partitions:
        plan, damage = plan_end(partition, context.settings), partition.end_damage
        if plan is not None and damage is not None:
            replica = partition.replica
            segment = partition.surveyed_segments[-1].name
            topic, number, _ = replica.key
            planned.append((_Place(topic, number, replica.broker_id, segment), damage, plan))
    if not planned:
        return []
    recorded = _recorded({place for place, _, _ in planned}, context)
    return [
        plan
        for place, damage, plan in planned
        if not any(
            damage.position <= start < stop == damage.stop
            for start, stop in recorded.get(place, ())
        )
    ]


def _recorded(places: set[_Place], context: RunContext) -> dict[_Place, list[tuple[int, int]]]:
    """Return the recorded damage in segments, as half-open ranges of bytes."""
    found: dict[_Place, list[tuple[int, int]]] = {}
    if not context.tables.exists():
        return found
    columns = (*_Place._fields, "position", "length_bytes", "defect_code")
    for row in context.tables.rows(QUARANTINE, context.source_id, columns).to_pylist():
        place = _Place(*(row[name] for name in _Place._fields))
        if place in places and row["defect_code"] != DefectCode.REPLICA_CONFLICT:
            start = row["position"]
            found.setdefault(place, []).append((start, start + row["length_bytes"]))
    return found
