"""Content of a report, before it is a page. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind, Look
from seglake.findings.recovery import Loss, PartitionRecovery, Recovery
from seglake.kafka_log.observation import Observation
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey
from seglake.progress.run_reporter import show_count


class OffsetState(StrEnum):
    """State of offsets in a partition; a strip draws a later state over an earlier one."""

    INGESTED = "ingested"
    NOT_INGESTED = "not_ingested_yet"  # seen in the log, above the ingested offsets
    COMPACTED = "compacted"
    DELETED = "deleted"
    MARKER = "marker"  # damaged markers, which hold no record
    DELETED_OR_LOST = "deleted_or_lost"
    REMOTE = "remote"
    UNDECIDED = "undecided"
    QUARANTINED = "quarantined"
    SUPERSEDED = "superseded"  # of rows that lost an election, and were not replaced
    MISSING = "missing"


class Level(IntEnum):
    """Levels of attention that a partition needs."""

    FINE = 0
    KNOWN = 1  # worth knowing, and nothing to do now
    LOOK = 2


def level_of(kind: FindingKind) -> Level:
    """Return the level of a partition with a finding of this kind."""
    return Level.KNOWN if kind.look is Look.NO else Level.LOOK


@dataclass(frozen=True, slots=True)
class Offsets:
    """Offsets of one state.

    Attributes:
        count: all of them, exactly.
        ranges: where they lie, in order. Ranges near each other may be drawn as one.
    """

    count: int
    ranges: tuple[OffsetRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedPlace:
    """Place and defect of damaged bytes, never the bytes themselves.

    Attributes:
        salvaged_records: number of their untrusted rows in `salvaged_records`.
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
        offsets: number of offsets by state; states without any are left out.
        seen: the newest run's observation of the log, None without one.
        recovery: records, and offsets without one by cause.
        damage: the listed places, out of `damage_count`.
    """

    source_id: str
    key: PartitionKey
    recovery: PartitionRecovery
    offsets: Mapping[OffsetState, Offsets]
    seen: Observation | None
    findings: tuple[Finding, ...]
    damage: tuple[DamagedPlace, ...]
    damage_count: int

    @property
    def records(self) -> int:
        """Return the number of records."""
        return self.recovery.records

    @property
    def level(self) -> Level:
        """Return the highest level of the findings."""
        return max((level_of(found.kind) for found in self.findings), default=Level.FINE)

    def count(self, state: OffsetState) -> int:
        """Return the number of offsets in a state."""
        found = self.offsets.get(state)
        return 0 if found is None else found.count


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """A run, as recorded in the tables; runs with the same id are one.

    Attributes:
        recorded: offsets in the gaps that it recorded, by cause, filled since or not.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ThisRun:
    """The run that the report was asked of, with what it printed.

    Attributes:
        findings: what it found.
    """

    command: str
    run_id: str | None
    exit_code: int
    lines: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeReport:
    """Everything that the page shows; partitions with the most urgent needs come first.

    Attributes:
        lake: path of the lake.
        made_at: time at which the tables were read.
        partitions: partitions of the lake and of what its runs saw.
        runs: runs that the tables have rows of, the newest first.
        this_run: run that asked for the report, None without one.
        upper_bound: bound of the newest run that committed, None if unknown.
        recovery: records of the lake and what it lacks; includes partitions that are known by an
            unread folder alone.
    """

    lake: str
    made_at: datetime
    partitions: tuple[PartitionReport, ...]
    recovery: Recovery
    runs: tuple[RunReport, ...]
    this_run: ThisRun | None
    upper_bound: str | None = None

    @property
    def lacks_groups(self) -> bool:
        """Return whether the lake has topics, but no records of consumer groups."""
        topics = {each.key.topic for each in self.partitions}
        return bool(topics) and "__consumer_offsets" not in topics

    @property
    def level(self) -> Level:
        """Return the highest level of attention that the lake needs."""
        is_lost = self.recovery.unread or Loss.NAMED_ONLY in self.recovery.lost
        of_lake = Level.LOOK if is_lost else Level.FINE
        return max([of_lake, *(each.level for each in self.partitions)])

    @property
    def headline(self) -> str:
        """Return one line on the recovery, and on the number of partitions that need a look."""
        count, need = len(self.partitions), len(self.at(Level.LOOK))
        if not self.recovery.partitions and not self.recovery.unread:
            return "Nothing was ingested"
        look = f"{need} of {show_count(count, 'partition')} need{'s' * (need == 1)} a look"
        return "; ".join([self.recovery.headline, *([look] if need else [])])

    def at(self, level: Level) -> tuple[PartitionReport, ...]:
        """Return the partitions with a level."""
        return tuple(each for each in self.partitions if each.level is level)

    def count(self, state: OffsetState) -> int:
        """Return the number of all partitions' offsets in a state."""
        return sum(each.count(state) for each in self.partitions)
