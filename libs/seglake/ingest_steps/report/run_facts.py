"""Facts of a run, from which its summary is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from seglake.findings.losing_tails import TailsOfPartition
from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.ingest_steps.planning.plan import RangePlan
from seglake.ingest_steps.repair.repair_result import RepairResult
from seglake.ingest_steps.repair.salvaged import Salvaged
from seglake.ingest_steps.report.left_out import LeftOut
from seglake.ingest_steps.report.standing_places import StandingPlaces
from seglake.ingest_steps.rounds import Round
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.observation import Observation
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.short_logs import ShortLog
from seglake.log_dirs.discovery import Discovery
from seglake.log_tables.source_ledger import SourceLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Facts of a run for its summary.

    Attributes:
        context: the run.
        discovery: the listed sources.
        rounds: the rounds of the run.
        repairs: result of the run's repairs.
        salvaged: salvaged records.
        left: files and ranges of the sources that were not read.
        short_logs: logs that end before an offset that they once reached; see `ShortLog`.
        now: time of the observations, after the last commit.
        ledger: the lake's ledger after the run.
        observations: the run's observation of each partition.
        places: files and folders that are unread after the run.
        tails: batches of losing logs above the end of the tables, in `quarantine` after the run, by
            partition.
        recovered_topics: topics whose last commit the run completed.
        notes: messages for the user that need no action.
        seconds: duration of the run.
    """

    context: RunContext
    discovery: Discovery
    rounds: Sequence[Round]
    repairs: RepairResult
    salvaged: Salvaged
    left: LeftOut
    short_logs: Sequence[ShortLog]
    now: datetime
    ledger: SourceLedger = field(default_factory=SourceLedger)
    observations: Sequence[Observation] = ()
    places: StandingPlaces = field(default_factory=StandingPlaces)
    tails: Mapping[PartitionKey, TailsOfPartition] = field(default_factory=dict)
    recovered_topics: Sequence[str] = ()
    notes: Sequence[str] = ()
    seconds: float = 0.0

    @property
    def planned(self) -> list[RangePlan]:
        """Return the ranges that all rounds planned to ingest."""
        return [plan for done in self.rounds for plan in done.ranges]

    @property
    def committed(self) -> list[RangeResult]:
        """Return the committed ranges of all rounds, without repairs."""
        return [result for done in self.rounds for result in done.committed]
