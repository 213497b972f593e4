"""Every order of the steps of two runs, with a death anywhere: each state once.

Two schedules that lead to the same lake, and leave each run at the same place with the same local
variables, go on alike: only one of them is followed. A run that dies is one that takes no more
steps, so each state is also one in which both have died: what they left must be right then.
"""

import inspect
import time
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from seglake.errors import SeglakeError
from seglake.lake.commit_port import Steps
from seglake.lake.redo_file import Redo
from seglake.lake.tables import Table
from torture.rows import Row
from torture.simulated_lake import Fate, Fates, OffsetRange, SimulatedLake, SimulatedPort, View
from torture.simulated_runs import run_steps


class Move(Enum):
    """What the scheduler does with one run."""

    STEP = auto()
    STEP_WITHOUT_ANSWER = auto()
    """As a step, but if it commits, the commit happens and seems to have failed."""


Choice = tuple[int, Move]

_PLAIN = frozenset((str, int, float, bool, type(None)))


class _NextCommit(Fates):
    """The scheduler says what becomes of the next commit."""

    def __init__(self) -> None:
        self.fate = Fate.DONE
        self.has_met_commit = False

    def commit(self) -> Fate:
        self.has_met_commit = True
        return self.fate


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is exhausted.

    Attributes:
        log_ends: of one topic, as each run finds it.
        lost_answers: at most so many in one schedule.
    """

    log_ends: tuple[int, ...] = (2, 3)
    wave_offsets: int = 3
    lost_answers: int = 0


SCOPES = {
    "two runs of one range": Scope(log_ends=(1, 1)),
    "two runs of different ranges": Scope(),
    "the same, and one answer lost": Scope(lost_answers=1),
    "two runs of two waves": Scope(log_ends=(2, 2), wave_offsets=1),
    "two waves, and one answer lost": Scope(log_ends=(2, 2), wave_offsets=1, lost_answers=1),
}


@dataclass
class Found:
    """What a search met: states, different lakes, and schedules that went wrong, with how."""

    states: int = 0
    lakes: int = 0
    wrong: list[tuple[tuple[Choice, ...], list[str]]] = field(default_factory=list)


class World:
    """A lake and its runs, after some choices."""

    def __init__(self, scope: Scope, choices: tuple[Choice, ...] = ()) -> None:
        self.lake = SimulatedLake()
        self._scope = scope
        self._published: list[OffsetRange] = []
        self._ports: list[SimulatedPort] = []
        self._fates: list[_NextCommit] = []
        self._runs: list[Steps[None] | None] = []
        self._lost_answers = 0
        # Of runs that took no step since: what runs share is in the key beside that.
        self._known: dict[int, tuple[object, ...]] = {}
        for number, end in enumerate(scope.log_ends):
            fates = _NextCommit()
            port = SimulatedPort(self.lake, f"run{number}", fates)
            self._fates.append(fates)
            self._ports.append(port)
            self._runs.append(self._run(port, end))
        for choice in choices:
            self.take(choice)

    def choices(self) -> list[Choice]:
        """What may happen next; nothing when all runs have ended."""
        alive = [number for number, run in enumerate(self._runs) if run is not None]
        moves = [Move.STEP]
        if self._lost_answers < self._scope.lost_answers:
            moves.append(Move.STEP_WITHOUT_ANSWER)
        return [(number, move) for number in alive for move in moves]

    def take(self, choice: Choice) -> None:
        number, move = choice
        run, fates = self._runs[number], self._fates[number]
        self._known.pop(number, None)
        if run is None:
            raise ValueError(f"run {number} has ended")
        fates.fate = Fate.ANSWER_LOST if move is Move.STEP_WITHOUT_ANSWER else Fate.DONE
        fates.has_met_commit = False
        try:
            next(run)
        except StopIteration:
            self._runs[number] = None
        except SeglakeError as error:
            self._runs[number] = None
            self.lake.faults.append(f"run {number} ended with: {error}")
        if move is Move.STEP_WITHOUT_ANSWER and fates.has_met_commit:
            self._lost_answers += 1

    def key(self) -> tuple[object, ...]:
        """Equal for worlds that go on alike."""
        for number, run in enumerate(self._runs):
            if run is not None and number not in self._known:
                self._known[number] = state_of(run)
        known = tuple(map(self._known.get, range(len(self._runs))))
        return (*self.left_key(), known, self._lost_answers)

    def left_key(self) -> tuple[object, ...]:
        """Equal for worlds that leave the same to a later run."""
        return (self.lake.key(), frozenset(self._published), bool(self.lake.faults))

    def faults(self) -> list[str]:
        """Let one more run go through undisturbed; what is wrong then, in words."""
        last = SimulatedPort(self.lake, "last", Fates())
        try:
            for _ in self._run(last, max(self._scope.log_ends)):
                pass
        except SeglakeError as error:
            self.lake.faults.append(f"the undisturbed run ended with: {error}")
        ledger = self.lake.ranges("checkpoints")
        offsets = [offset for held in ledger for offset in range(held.start, held.end)]
        found = [*self.lake.faults, *self.lake.unpublishable()]
        if offsets != [*range(max(self._scope.log_ends))]:
            found.append(f"offsets {offsets} are published")
        if len(self.lake.ranges("records") + self.lake.ranges("gaps")) != len(ledger):
            found.append("records has more than is published")
        return found + [f"{held} is lost" for held in self._published if held not in ledger]

    def _run(self, port: SimulatedPort, end: int) -> Steps[None]:
        return run_steps(port, {"orders": end}, self._scope.wave_offsets, self._published)


def state_of(steps: Steps[None]) -> tuple[object, ...]:
    """Where a generator stands, and those in it: their places and their local variables."""
    found: list[object] = []
    inner: object = steps
    while inspect.isgenerator(inner):
        frame = inner.gi_frame
        if frame is not None:
            values = ((name, _frozen(value)) for name, value in sorted(frame.f_locals.items()))
            found.append((inner.gi_code.co_name, frame.f_lasti, *values))
        inner = inner.gi_yieldfrom
    return tuple(found)


def _frozen(value: object) -> Hashable:
    """A value as something that can be compared and hashed; what never changes is left out."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    # Most of them: matching classes takes its time.
    if isinstance(value, list) or (isinstance(value, tuple) and kind is tuple):
        return tuple(map(_frozen, value))
    match value:
        case View():
            return value.number, value.version.key
        case Redo():
            return value.commit_id, *value.generations.items()
        case Table():
            return value.name
        case Mapping():
            return tuple(sorted((key, _frozen(held)) for key, held in value.items()))
        case set() | frozenset():
            return tuple(sorted(value))
    return None  # ports, functions, what a run was given


def exhaust(scope: Scope, most_states: int) -> Found:
    """Follow every choice from every state, up to so many states."""
    found = Found()
    seen: set[tuple[object, ...]] = set()
    left: set[tuple[object, ...]] = set()
    for world, choices in _worlds(scope, seen):
        found.states += 1
        key = world.left_key()
        if key not in left:
            left.add(key)
            faults = World(scope, choices).faults()
            if faults:
                found.wrong.append((choices, faults))
        if found.states >= most_states:
            raise ValueError(f"there are more than {most_states} states: {scope}")
    found.lakes = len(left)
    return found


def campaign(seconds: float, seed: int) -> Iterator[Row]:
    """All orders of one scope after the other; no new scope is begun when the time is over."""
    began = time.monotonic()
    for case, scope in SCOPES.items():
        started = time.monotonic()
        if started - began > seconds:
            print(f"exhausted: {case}: not begun, the time is over")
            continue
        found = exhaust(scope, most_states=10_000_000)
        for choices, faults in found.wrong[:3]:
            print(f"exhausted: World({scope}, {choices}): {faults}")
        yield Row(
            part="exhausted",
            case=case,
            tried=found.states,
            wrong=len(found.wrong),
            seconds=time.monotonic() - started,
        )


def _worlds(
    scope: Scope, seen: set[tuple[object, ...]]
) -> Iterator[tuple[World, tuple[Choice, ...]]]:
    """Each state once, depth first. A world goes on with its first choice; others are replayed."""
    ahead: list[tuple[Choice, ...]] = [()]
    while ahead:
        choices = ahead.pop()
        world = World(scope, choices)
        while (key := world.key()) not in seen:
            seen.add(key)
            possible = world.choices()
            ahead += [(*choices, other) for other in possible[1:]]
            yield world, choices
            if not possible:
                break
            world.take(possible[0])
            choices = (*choices, possible[0])
