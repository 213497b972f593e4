"""Facts of a run from which its summary is made. A value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from seglake.findings.losing_tails import TailsOfPartition
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
        left: files and ranges of the sources that were not read.
        places: unread places after the run.
        short_logs: logs that end below their proved end.
        ledger: the lake's ledger after the run.
        tails: losing tails in quarantine after the run.
    """

    context: RunContext
    discovery: Discovery
    recovered_topics: Sequence[str]
    rounds: Sequence[Round]
    repairs: RepairResult
    left: LeftOut
    places: StandingPlaces
    salvaged: Salvaged
    notes: Sequence[str]
    short_logs: Sequence[ShortLog]
    observations: Sequence[Observation]
    ledger: SourceLedger
    tails: Mapping[PartitionKey, TailsOfPartition]
    now: datetime
    seconds: float
