"""The data of a report, from which the page is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind, Look
from seglake.findings.loss_causes import Loss
from seglake.findings.recovery import PartitionRecovery, Recovery
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import Observation
from seglake.kafka_log.replica import PartitionKey
from seglake.pipelines.lake_report.erasures import Erasure
from seglake.pipelines.lake_report.latest_states import LatestTableState
from seglake.pipelines.lake_report.typed import TypedReport
from seglake.printable import show_count

REGISTRY_TOPIC = "_schemas"
"""Usual topic of a schema registry."""


class OffsetState(StrEnum):
    """State of offsets in a partition, as the page shows it.

    The page's strip draws later members on top of earlier ones.
    """

    INGESTED = "ingested"
    NOT_INGESTED = "not_ingested_yet"  # on the disk, above what is ingested
    COMPACTED = "compacted"
    ERASED = "erased"
    EXPIRED = "expired"
    DELETED = "deleted"
    MARKER = "marker"  # damaged transaction markers, which have no record
    DELETED_OR_LOST = "deleted_or_lost"
    REMOTE = "remote"
    UNDECIDED = "undecided"
    QUARANTINED = "quarantined"
    SUPERSEDED = "superseded"  # their rows lost an election and are not replaced yet
    MISSING = "missing"


class Level(IntEnum):
    """Level of attention that a partition needs."""

    FINE = 0
    KNOWN = 1  # worth knowing, but nobody has to act now
    LOOK = 2


def level_of(kind: FindingKind) -> Level:
    """Return the level of attention that a finding of this kind needs."""
    return Level.KNOWN if kind.look is Look.NO else Level.LOOK


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedPlace:
    """Position and defect of damaged bytes, never the bytes themselves.

    Attributes:
        salvaged_records: number of untrusted rows in `salvaged_records` from these bytes.
    """

    broker_id: int | None
    segment: str
    position: int
    size_bytes: int
    code: str
    detail: str
    previous_offset: int | None
    next_offset: int | None
    run_id: str
    is_resolved: bool
    salvaged_records: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReport:
    """A partition of one cluster.

    Attributes:
        offsets: offsets by state, with exact numbers; close ranges may be joined. States without
            offsets are omitted.
        seen: the newest run's observation of the log; None if there is none.
        recovery: number of ingested records, and number of offsets without record by cause.
        damage: the damaged places to list.
        damage_count: number of damaged places, whether listed or not.
    """

    source_id: str
    key: PartitionKey
    recovery: PartitionRecovery
    offsets: Mapping[OffsetState, GapRanges]
    seen: Observation | None
    findings: tuple[Finding, ...]
    damage: tuple[DamagedPlace, ...]
    damage_count: int

    @property
    def records(self) -> int:
        """Return the number of records that the partition has in the lake."""
        return self.recovery.records

    @property
    def level(self) -> Level:
        """Return the highest level of attention that the partition's findings need."""
        return max((level_of(found.kind) for found in self.findings), default=Level.FINE)

    def count(self, state: OffsetState) -> int:
        """Return the number of the partition's offsets in a state."""
        found = self.offsets.get(state)
        return 0 if found is None else found.offsets


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """Run as recorded in the tables. Runs with the same id are treated as one run.

    Attributes:
        recorded: number of offsets in the gaps that the run recorded, by cause, even if the gaps
            have been filled since.
        removed: number of records that the run removed, erased or expired.
    """

    run_id: str
    began_at: datetime
    ended_at: datetime
    kinds: tuple[str, ...]
    partitions: int
    offsets: int
    records: int
    quarantined_batches: int
    recorded: Mapping[str, int] = field(default_factory=dict)
    removed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThisRun:
    """Run that requested the report, with the lines that it printed.

    Attributes:
        findings: findings of the run.
    """

    command: str
    run_id: str | None
    exit_code: int
    lines: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeReport:
    """Content of the page; partitions with the most urgent needs come first.

    Attributes:
        lake: path of the lake.
        made_at: time at which the tables were read.
        partitions: partitions that are in the lake or that a run found.
        runs: runs with rows in the tables, the newest first.
        this_run: run that requested the report; None if a person requested it.
        upper_bound: upper bound in the settings of the newest run that committed; None if unknown.
        recovery: records of the lake, and offsets that it lacks; includes partitions that are known
            only from an unread folder.
        erasures: runs of `seglake erase` that stored rules, the newest first.
        latest: tables of latest state, those that lack most commits first.
        typed: the topics with typed tables.
    """

    lake: str
    made_at: datetime
    partitions: tuple[PartitionReport, ...]
    recovery: Recovery
    runs: tuple[RunReport, ...]
    this_run: ThisRun | None
    upper_bound: str | None = None
    erasures: tuple[Erasure, ...] = ()
    latest: tuple[LatestTableState, ...] = ()
    typed: TypedReport = field(default_factory=TypedReport)

    @property
    def may_be_decoded(self) -> bool:
        """Return whether the lake has the topic of a schema registry, and no typed table."""
        topics = {each.key.topic for each in self.partitions}
        return REGISTRY_TOPIC in topics and not self.typed.topics

    @property
    def lacks_groups(self) -> bool:
        """Return whether the lake has topics, but no records of consumer groups."""
        topics = {each.key.topic for each in self.partitions}
        return bool(topics) and "__consumer_offsets" not in topics

    @property
    def level(self) -> Level:
        """Return the highest level of attention that the lake needs."""
        is_lost = self.recovery.unread or Loss.NAMED_ONLY in self.recovery.lost
        is_rejected = bool(self.typed.reject_count or self.typed.problem)
        of_lake = Level.LOOK if is_lost or is_rejected else Level.FINE
        return max([of_lake, *(each.level for each in self.partitions)])

    @property
    def headline(self) -> str:
        """Return a line on the recovery and on the number of partitions to check."""
        count, need = len(self.partitions), len(self.at(Level.LOOK))
        if not self.recovery.partitions and not self.recovery.unread:
            return "Nothing was ingested"
        look = f"{need} of {show_count(count, 'partition')} need{'s' * (need == 1)} a look"
        rejects = self.typed.reject_count
        rejected = [f"rejected keys and values: {rejects}"] if rejects else []
        return "; ".join([self.recovery.headline, *([look] if need else []), *rejected])

    def at(self, level: Level) -> tuple[PartitionReport, ...]:
        """Return the partitions that need this level of attention."""
        return tuple(each for each in self.partitions if each.level is level)

    def count(self, state: OffsetState) -> int:
        """Return the number of offsets in a state, of all partitions."""
        return sum(each.count(state) for each in self.partitions)
