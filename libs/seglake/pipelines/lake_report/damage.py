"""The rows of `quarantine` as places, and which of them were made good. Pure."""

from collections.abc import Iterable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from seglake.findings.losing_tails import TailsOfPartition, tails_of
from seglake.pipelines.lake_report.ledger import Ledger, LogName, Row
from seglake.pipelines.lake_report.model import DamagedPlace
from seglake.segment_codec.formats.errors import DefectCode

# Everything but `raw`: the damaged bytes may be anything, and never leave the table.
COLUMNS = (
    *("source_id", "topic_id", "topic", "partition", "broker_id", "segment", "position"),
    *("length_bytes", "defect_code", "defect_detail", "previous_offset", "next_offset"),
    *("raw_sha256", "resolution", "run_id", "generation"),
    *("base_offset", "last_offset", "record_count", "expected_crc"),
)

_MOST_LISTED = 50  # of one partition


class Damage(NamedTuple):
    """The damage of one partition: the listed places, unresolved ones first.

    `tails` are batches of replicas that lost.
    """

    places: tuple[DamagedPlace, ...] = ()
    place_count: int = 0
    tails: TailsOfPartition = MappingProxyType({})


SALVAGED_COLUMNS = (
    *("source_id", "topic", "partition", "broker_id", "segment", "position", "raw_sha256"),
    "generation",
)
"""Columns by which salvaged rows name their row of `quarantine`."""


def damage_by_log(
    rows: Iterable[Row], ledger: Ledger, salvaged: Mapping[tuple[Any, ...], int]
) -> dict[LogName, Damage]:
    """Return the damage of every partition, without uncommitted rows.

    Args:
        salvaged: number of salvaged records, by `SALVAGED_COLUMNS`.
    """
    met: dict[LogName, dict[tuple[object, ...], _Met]] = {}
    for row in rows:
        source_id = row["source_id"]
        if ledger.has_generation(source_id, row["topic"], row["generation"] or 0):
            # What is a conflict to the log that was read first may be damage to a retake.
            is_conflict = row["defect_code"] == DefectCode.REPLICA_CONFLICT
            place = (row["broker_id"], row["segment"], row["position"])
            of_log = met.setdefault(ledger.name_of(source_id, row), {})
            key = (*place, row["raw_sha256"], is_conflict)
            of_log[key] = of_log.get(key, _Met(row)).with_row(row)
    return {log: _damage(of_log.values(), salvaged) for log, of_log in met.items()}


class _Met(NamedTuple):
    """Rows of one place: the one that describes it, and the newest generations."""

    row: Row
    damaged_at: int = -1
    resolved_at: int = -1

    def with_row(self, row: Row) -> "_Met":
        generation = row["generation"] or 0
        if row["resolution"] is None:
            return self._replace(row=row, damaged_at=max(self.damaged_at, generation))
        return self._replace(resolved_at=max(self.resolved_at, generation))


def _damage(met: Iterable[_Met], salvaged: Mapping[tuple[Any, ...], int]) -> Damage:
    met = [*met]
    found = (_place(each, salvaged) for each in met)
    tails = tails_of(each.row for each in met)
    places = sorted(found, key=attrgetter("is_resolved", "segment", "position"))
    return Damage(tuple(places[:_MOST_LISTED]), len(places), tails)


def _place(met: _Met, salvaged: Mapping[tuple[Any, ...], int]) -> DamagedPlace:
    row = met.row
    batch = tuple(row[name] for name in SALVAGED_COLUMNS[:-1])
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
        is_resolved=met.resolved_at >= met.damaged_at,
        salvaged_records=salvaged.get((*batch, met.damaged_at), 0),
    )
