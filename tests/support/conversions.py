"""Lakes made of real disks once, for all tests that only look at them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_report.model import LakeReport
from support import broker_disks
from support.audits import audited
from support.broker_disks import CORRUPT_CASES, SCENARIOS
from support.cases import cases, shared
from support.corrupt_outcomes import corrupt_outcome
from support.lakes import ingested
from support.oracle import Isolation
from support.reports import reported


class DiskCopy(NamedTuple):
    """One copy of a scenario's disks, and how it is read."""

    scenario: str
    copy: str
    isolation: Isolation

    @property
    def disks(self) -> Path:
        return broker_disks.unpacked(self.scenario) / "disks" / self.copy

    @property
    def is_telling(self) -> bool:
        """Both isolations where there are transactions, else one of them in turn."""
        isolations = list(Isolation)
        is_in_turn = self.isolation is isolations[int(self.scenario[:2]) % len(isolations)]
        return is_in_turn or self.scenario == "06_transactions"


DISK_COPIES = [
    DiskCopy(scenario, copy, isolation)
    for scenario in SCENARIOS
    for copy in broker_disks.copies(scenario)
    for isolation in Isolation
]


def _telling_damage() -> frozenset[str]:
    """The first damaged copy of each kind of outcome: the same defects, gaps, tails and records."""
    found: dict[object, str] = {}
    for name in CORRUPT_CASES:
        outcome = corrupt_outcome(name)
        kind = (
            frozenset(defect.code for defect in outcome.defects),
            frozenset(gap.cause for gap in outcome.gaps),
            outcome.tail,
            bool(outcome.closed_tails),
            outcome.kind_of_records,
            outcome.is_more_left,
            outcome.source_id,
        )
        found.setdefault(kind, name)
    return frozenset(found.values())


TELLING_DAMAGE = _telling_damage()
DAMAGED_COPIES = shared(cases(CORRUPT_CASES, telling=TELLING_DAMAGE))


@dataclass(frozen=True)
class Conversion:
    """A lake that one run made. Whoever looks at it must not change it."""

    lake: Path
    summary: IngestSummary

    @cached_property
    def audit(self) -> LakeAudit:
        """What an audit finds: several tests read it, and it costs three runs."""
        return audited(self.lake)

    @cached_property
    def report(self) -> LakeReport:
        """What the report has."""
        return reported(self.lake)


class Conversions:
    """The lakes of one test process, each made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, Conversion] = {}

    def of_copy(self, copy: DiskCopy) -> Conversion:
        """All topics of the disks, internal ones too."""
        return self._made_once(
            "-".join(copy),
            lambda lake: ingested(
                copy.disks, lake, isolation=copy.isolation, select={"internal_topics": True}
            ),
        )

    def of_damaged(self, name: str) -> Conversion:
        """The damaged copy of that name, records that are not committed too."""
        return self._made_once(name, lambda lake: ingest_damaged(name, lake))

    def _made_once(self, name: str, make: Callable[[Path], IngestSummary]) -> Conversion:
        if name not in self._made:
            lake = self._folder / name
            self._made[name] = Conversion(lake, make(lake))
        return self._made[name]


def ingest_damaged(name: str, lake: Path) -> IngestSummary:
    """Ingest a damaged copy, told its source where the disk does not say it."""
    outcome = corrupt_outcome(name)
    source = {} if outcome.source_id is None else {"source_id": outcome.source_id}
    return ingested(outcome.case.log_dir, lake, source=source)
