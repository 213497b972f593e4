"""Writes `quarantine` rows that mark damage as resolved, together with each wave's rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.ingest_steps.committing.wave import (
    WaveResult,
    planned_waves,
    run_waves,
    write_rows,
)
from seglake.ingest_steps.planning.plan import RangePlan
from seglake.ingest_steps.repair.repair_state import RepairState, Rows
from seglake.ingest_steps.repair.resolutions import (
    identity_of,
    resolution_rows,
    resolutions_table,
)
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.parquet_files import DataFile
from seglake.lake.tables import QUARANTINE
from seglake.log_tables.current_gaps import CurrentGap

_Identity = tuple[Any, ...]  # Any: a row's columns have many types


def commit_fills(
    plans: Sequence[RangePlan],
    damage: Mapping[PartitionKey, Rows],
    gaps: Mapping[PartitionKey, Sequence[CurrentGap]],
    state: RepairState,
) -> tuple[WaveResult, Mapping[str, int]]:
    """Commit ranges that fill gaps of the lake, and mark the damage in these gaps as resolved.

    Args:
        plans: the ranges.
        damage: unresolved damage that the ranges may fill, by partition.
        gaps: gaps before the fills, by partition.
        state: the lake before the repair.

    Returns:
        The result, and the number of resolved damaged spans that this run had recorded, by
        partition.
    """
    context = state.context
    resolutions = _Resolutions(damage, gaps, state.generations, context)
    waves = planned_waves(plans, context)
    return run_waves(waves, state.generations, context, resolutions), resolutions.mended


class _Resolutions:
    """Source of the rows that resolve damage, for each wave of a repair or a refill.

    One damaged span may leave several holes, which several waves may fill. The wave that fills the
    last hole resolves the damage. So call `settle` after each commit.
    """

    def __init__(
        self,
        damage: Mapping[PartitionKey, Rows],
        gaps: Mapping[PartitionKey, Sequence[CurrentGap]],
        generations: Mapping[str, int],
        context: RunContext,
    ) -> None:
        """Store the lake's state before the first wave.

        Args:
            damage: unresolved rows of `quarantine` by partition, without bytes.
            gaps: gaps before the fills, by partition.
            generations: commit counter of each topic; each commit raises it.
            context: the run.
        """
        self._damage = damage
        self._gaps = gaps
        self._generations = generations
        self._context = context
        self._committed: list[RangeResult] = []
        self._resolved: set[_Identity] = set()
        # rows that are written but not committed, by topic
        self._written: dict[str, set[_Identity]] = {}
        self._of_this_run = {
            identity_of(row): str(key)
            for key, rows in damage.items()
            for row in rows
            if row["run_id"] == context.run_id
        }

    @property
    def mended(self) -> dict[str, int]:
        """Return the number of resolved spans that this run itself recorded, by partition."""
        return Counter(
            name for identity, name in self._of_this_run.items() if identity in self._resolved
        )

    def files(self, results: Sequence[RangeResult]) -> dict[str, list[DataFile]]:
        """Return the files, by topic, that mark damage in these ranges as resolved."""
        self._written.clear()
        files: dict[str, list[DataFile]] = {}
        for key in sorted({result.key for result in results}, key=str):
            rows = self._rows(key, results)
            if rows:
                table = resolutions_table(rows)
                written = write_rows(self._context, QUARANTINE, key.topic, table)
                files.setdefault(key.topic, []).extend(written)
                self._written.setdefault(key.topic, set()).update(map(identity_of, rows))
        return files

    def settle(self, done: WaveResult) -> None:
        """Record which ranges of the last call of `files` were committed."""
        self._committed += done.committed
        for topic in {result.key.topic for result in done.committed}:
            self._resolved |= self._written.pop(topic, set())

    def _rows(self, key: PartitionKey, results: Sequence[RangeResult]) -> list[dict[str, Any]]:
        damage = self._damage.get(key, [])
        stamp = {
            "run_id": self._context.run_id,
            "quarantined_at": self._context.started_at_us,
            "generation": self._generations[key.topic] + 1,
        }
        return resolution_rows(
            [result for result in (*self._committed, *results) if result.key == key],
            [row for row in damage if identity_of(row) not in self._resolved],
            self._gaps.get(key, ()),
            stamp,
        )
