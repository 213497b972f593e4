"""Seeded schedules of several runs on one simulated lake, with the product's own protocol.

At each step one of the runs goes on up to its next call of the lake, or dies there. Commits fail,
or only seem to; they arrive late; views and listings are old; a compaction and a vacuum go on
beside them; a power cut undoes what nobody synced. In the end one run goes through undisturbed:
nothing may be lost or doubled, or be published and not be there.
"""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from seglake.errors import SeglakeError
from seglake.lake.commit_port import Steps
from seglake.lake.errors import (
    CommitUnknownError,
    DecidedFileGoneError,
    RedoMissingError,
    TablesDisagreeError,
    WaveError,
)
from torture.rows import Row
from torture.simulated_lake import (
    Fate,
    Fates,
    OffsetRange,
    SimulatedLake,
    SimulatedPort,
    is_erasure,
)
from torture.simulated_runs import (
    TOPICS,
    compaction_steps,
    erasing_steps,
    run_steps,
    vacuum_steps,
)

_MOST_STEPS = 2000
_AT_A_TIME = 500
# What a run may end with: it says so, and has touched nothing that it could not see.
_OF_OLD_VIEWS = (RedoMissingError, TablesDisagreeError, WaveError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """How often something happens, of one: at each step, or to each commit, view or listing."""

    death: float = 0.01
    bad_commit: float = 0.15
    old_view: float = 0.0
    hidden_redo: float = 0.0
    power_cut: float = 0.0
    upkeep: bool = False
    erasing: bool = False


CASES = {
    "three runs that die, commits that fail or seem to": Odds(),
    "answers lost, commits late, old views and listings": Odds(
        bad_commit=0.4, old_view=0.1, hidden_redo=0.1
    ),
    "beside a compaction and a vacuum": Odds(upkeep=True, death=0.02),
    "power cuts": Odds(power_cut=0.02, bad_commit=0.5, death=0.03),
    "records are erased, beside a compaction and a vacuum": Odds(
        upkeep=True, erasing=True, bad_commit=0.3
    ),
    "everything at once": Odds(
        death=0.02,
        bad_commit=0.3,
        old_view=0.05,
        hidden_redo=0.05,
        power_cut=0.002,
        upkeep=True,
        erasing=True,
    ),
}


class RandomFates(Fates):
    """Draws what happens to one run."""

    def __init__(self, rng: random.Random, odds: Odds) -> None:
        self._rng = rng
        self._odds = odds

    def commit(self) -> Fate:
        if self._rng.random() >= self._odds.bad_commit:
            return Fate.DONE
        return self._rng.choice((Fate.REFUSED, Fate.ANSWER_LOST, Fate.LATE))

    def versions_behind(self) -> int:
        return int(self._rng.random() < self._odds.old_view)

    def hides_redo(self) -> bool:
        return self._rng.random() < self._odds.hidden_redo


class Schedule:
    """One life of a lake, drawn from one seed."""

    def __init__(self, odds: Odds, seed: int) -> None:
        self._odds = odds
        self._rng = random.Random(seed)
        self._lake = SimulatedLake()
        self._fates: Fates = RandomFates(self._rng, odds)
        self._published: list[OffsetRange] = []
        self._log_ends = {topic: self._rng.randint(1, 4) for topic in TOPICS}
        self._actors: dict[str, Steps[None]] = {}
        self._ended: list[str] = []
        self._refusals: tuple[type[SeglakeError], ...] = (CommitUnknownError,)
        if odds.old_view:
            self._refusals += _OF_OLD_VIEWS
        if odds.upkeep:  # it slept until others completed, compacted and vacuumed what it looks at
            self._refusals += (DecidedFileGoneError,)

    def faults(self) -> list[str]:
        """Live through it; what went wrong, in words."""
        for number in range(3):
            self._actors[f"run{number}"] = self._run(f"run{number}", self._fates)
        steps = 0
        while self._actors and steps < _MOST_STEPS:
            self._step()
            steps += 1
        for late in [late for late in self._lake.late if self._rng.random() < 0.5]:
            self._lake.arrive(late)
        self._lake.late.clear()
        self._lake.faults += self._lost()
        # The last one begins when everything is quiet.
        self._fates = Fates()
        for name in ("last", "again"):
            self._exhaust(name)
        return self._lake.faults + self._unfinished()

    def _run(self, name: str, fates: Fates) -> Steps[None]:
        ends = {topic: self._rng.randint(0, end) for topic, end in self._log_ends.items()}
        wanted = self._log_ends if name in ("last", "again") else ends
        port = SimulatedPort(self._lake, name, fates)
        return run_steps(port, wanted, self._rng.randint(1, 3), self._published)

    def _step(self) -> None:
        rng, odds = self._rng, self._odds
        if self._lake.late and rng.random() < 0.05:
            self._lake.arrive(rng.choice(self._lake.late))
        if rng.random() < odds.power_cut:
            self._lake.power_cut(rng.randint)
            self._actors.clear()
            self._lake.faults += self._lost()
            if rng.random() < 0.7:
                name = f"run{3 + len(self._ended)}"
                self._actors[name] = self._run(name, self._fates)
            self._ended.append("power cut")
            return
        if odds.upkeep and rng.random() < 0.01:
            self._begin_upkeep()
        if odds.erasing and rng.random() < 0.02:
            name = f"eraser{len(self._lake.writers)}"
            port = SimulatedPort(self._lake, name, self._fates)
            self._actors[name] = erasing_steps(port, self._lake, rng.choice)
        name = rng.choice([*self._actors])
        if rng.random() < odds.death:
            del self._actors[name]
            return
        try:
            next(self._actors[name])
        except StopIteration:
            del self._actors[name]
        except SeglakeError as error:  # it ended with a message; the next run goes on
            del self._actors[name]
            self._ended.append(str(error))
            if not isinstance(error, self._refusals):
                self._lake.faults.append(f"{name} ended with: {error}")

    def _begin_upkeep(self) -> None:
        name = f"upkeep{len(self._lake.writers)}"
        port = SimulatedPort(self._lake, name, Fates())
        if self._rng.random() < 0.5:
            self._actors[name] = compaction_steps(port, self._lake)
        else:
            self._actors[name] = vacuum_steps(port, self._lake, self._actors)

    def _exhaust(self, name: str) -> None:
        try:
            for _ in self._run(name, self._fates):
                pass
        except SeglakeError as error:
            self._lake.faults.append(f"the undisturbed run ended with: {error}")

    def _unfinished(self) -> list[str]:
        ledger = [held for held in self._lake.ranges("checkpoints") if not is_erasure(held)]
        found = self._lake.unpublishable()
        for topic, end in self._log_ends.items():
            spans = [range(held.start, held.end) for held in ledger if held.topic == topic]
            offsets = [offset for span in spans for offset in span]
            if offsets != [*range(end)]:
                found.append(f"{topic}: offsets {offsets} are published of {end}")
        taken = [*self._lake.ranges("records"), *self._lake.ranges("gaps")]
        found += [f"{held} is not published" for held in taken if held not in ledger]
        return found + self._lost()

    def _lost(self) -> list[str]:
        """What a run was told to be published and is not."""
        ledger = self._lake.ranges("checkpoints")
        return [f"{held} is lost" for held in self._published if held not in ledger]


def faults_of(case: str, seed: int) -> list[str]:
    """Repeat one schedule; what went wrong in it."""
    return Schedule(CASES[case], seed).faults()


def faulty_seeds(case: str, seeds: range) -> list[int]:
    """Live through a schedule for each seed; those in which something went wrong."""
    return [seed for seed in seeds if faults_of(case, seed)]


def campaign(seconds: float, seed: int) -> Iterator[Row]:
    """Schedules of each case in turn, on all cores, until the time is over."""
    with ProcessPoolExecutor() as pool:
        for case in CASES:
            started = time.monotonic()
            tried, wrong, first = 0, 0, seed * 1_000_000_000
            while time.monotonic() - started < seconds / len(CASES):
                starts = range(first + tried, first + tried + 8 * _AT_A_TIME, _AT_A_TIME)
                chunks = [range(start, start + _AT_A_TIME) for start in starts]
                for found in pool.map(faulty_seeds, [case] * len(chunks), chunks):
                    wrong += len(found)
                    for faulty in found[:3]:
                        again = f"faults_of({case!r}, {faulty})"
                        print(f"schedules: {again}: {faults_of(case, faulty)}")
                tried += len(chunks) * _AT_A_TIME
            spent = time.monotonic() - started
            yield Row(part="schedules", case=case, tried=tried, wrong=wrong, seconds=spent)
