"""Adds up the runs that have rows in the tables.

A run that ingested nothing and observed nothing new has no rows. No table has exit codes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from seglake.kafka_log.observation import Observation
from seglake.log_tables.ledger_layers import INGESTED, REMOVALS, RangeKind
from seglake.pipelines.lake_report.ledger import Ledger, LogName, Row
from seglake.pipelines.lake_report.model import RunReport

_ONLY_SURVEYED = "looked"


@dataclass(slots=True)
class _Run:
    times: list[datetime] = field(default_factory=list)
    kinds: dict[str, None] = field(default_factory=dict)
    logs: set[LogName] = field(default_factory=set)
    offsets: int = 0
    records: int = 0
    removed: int = 0
    quarantined_batches: int = 0
    recorded: dict[str, int] = field(default_factory=dict)


class RunTally:
    """Sums of each run's rows, added in any order."""

    def __init__(self) -> None:
        """Create an empty tally."""
        self._runs: dict[str, _Run] = {}

    def saw(self, log: LogName, observation: Observation) -> None:
        """Add that a run has observed a partition."""
        run = self._runs.setdefault(observation.run_id, _Run())
        run.times.append(observation.observed_at)
        run.kinds.setdefault(_ONLY_SURVEYED)
        run.logs.add(log)

    def committed(self, ledger: Ledger, gaps: Iterable[Row] = ()) -> None:
        """Add the rows of the ledger, and the gaps that runs recorded.

        Args:
            ledger: the lake's ledger.
            gaps: rows from the query `recorded_gaps`.
        """
        for row in gaps:
            self._runs.setdefault(row["run_id"], _Run()).recorded[row["cause"]] = row["offsets"]
        for log, rows in ledger.rows.items():
            for row in rows:
                run = self._runs.setdefault(row["run_id"], _Run())
                if row["committed_at"] is not None:
                    run.times.append(row["committed_at"])
                run.kinds.setdefault(row["kind"])
                run.logs.add(log)
                if row["kind"] in INGESTED:
                    run.offsets += row["next_offset"] - row["start_offset"]
                if row["kind"] in REMOVALS:
                    run.removed += row["records"] or 0
                elif row["kind"] != RangeKind.SUPERSEDED:
                    run.records += row["records"] or 0
                    run.quarantined_batches += row["quarantined_batches"] or 0

    def runs(self) -> tuple[RunReport, ...]:
        """Return the runs, the newest first."""
        found = [_report(run_id, run) for run_id, run in self._runs.items() if run.times]
        return tuple(sorted(found, key=lambda run: run.ended_at, reverse=True))


def _report(run_id: str, run: _Run) -> RunReport:
    kinds = [kind for kind in run.kinds if kind != _ONLY_SURVEYED]
    return RunReport(
        run_id=run_id,
        began_at=min(run.times),
        ended_at=max(run.times),
        kinds=tuple(sorted(kinds)) or (_ONLY_SURVEYED,),
        partitions=len(run.logs),
        offsets=run.offsets,
        records=run.records,
        removed=run.removed,
        quarantined_batches=run.quarantined_batches,
        recorded=run.recorded,
    )
