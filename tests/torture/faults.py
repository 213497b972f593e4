"""Real faults on real parts: commands in processes of their own, stopped at points by name.

Each case is a command at work on a small lake, a point that it passes, and what happens to it
there: a fault, other runs, or another disk. Behind it a normal run comes, and the lake must be the
one of a run that nothing happened to.
"""

import itertools
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

from support.named_points import Point
from torture.fault_changes import CHANGES, changed
from torture.fault_kinds import EVERYWHERE, TWO_WORKERS, WORKER_POINTS, cycle
from torture.fault_races import race
from torture.fault_scenes import SCENES, Scene, scene
from torture.rows import Row

_RACE, _WORKER = "runs race", "worker killed"
_CHANGED = ("first", "more")  # their logs are known to the changes
_LAST_READ = Point("committing", 1)  # of the waves that a change could touch
_TELLING_TIMES = 2  # the third wave passes the points of the second


class Case(NamedTuple):
    """A command, what happens to it, and where."""

    scene: str
    fault: str
    point: Point | None  # of a race none
    seed: int

    def __str__(self) -> str:
        place = f"seed {self.seed}" if self.point is None else f"at {self.point}"
        return f"{self.scene}: {self.fault} {place}"


class Stage:
    """The scenes of a campaign, each made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._scenes: dict[str, Scene] = {}

    def scene(self, name: str) -> Scene:
        if name not in self._scenes:
            self._scenes[name] = scene(name, self._folder / name)
        return self._scenes[name]

    def cases(self, name: str) -> list[Case]:
        """Everything that can happen to one command, each once, and as many races as points."""
        passed = self.scene(name).clean.points
        points = [point for point in passed if point.time < _TELLING_TIMES]
        found = [Case(name, fault, point, 0) for point in points for fault in EVERYWHERE]
        found += [Case(name, _RACE, None, number) for number in range(len(points))]
        if name == "first":
            found += [Case(name, _WORKER, point, 0) for point in WORKER_POINTS]
        if name in _CHANGED:
            read = points[: points.index(_LAST_READ)]
            found += [Case(name, each, point, 0) for point in read for each in CHANGES]
        return found

    def wrong(self, case: Case) -> list[str]:
        """What was otherwise than promised."""
        own = self.scene(case.scene)
        if case.point is None:
            return race(own, case.seed)
        if case.fault in CHANGES:
            return changed(own, case.point, case.fault)
        more = TWO_WORKERS if case.fault == _WORKER else ()
        return cycle(own, case.point, case.fault, more=more)


def campaign(seconds: float, seed: int) -> Iterator[Row]:
    """Draw cases of all commands until the time is over or each was had; races have new seeds."""
    random, end = Random(seed), time.monotonic() + seconds
    tried: dict[str, list[float]] = {}
    wrong: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder))
        cases = [case for name in SCENES for case in stage.cases(name)]
        random.shuffle(cases)
        for case in itertools.takewhile(lambda _: time.monotonic() < end, cases):
            drawn = case._replace(seed=random.getrandbits(32)) if case.point is None else case
            begun = time.monotonic()
            found = stage.wrong(drawn)
            tried.setdefault(drawn.fault, []).append(time.monotonic() - begun)
            if found:
                wrong[drawn.fault] = wrong.get(drawn.fault, 0) + 1
                report(drawn, found)
    had = sum(len(times) for times in tried.values())
    print(f"faults: {had:,} of {len(cases):,} cases had")
    yield from _rows(tried, wrong)


def report(case: Case, found: list[str]) -> None:
    """Print a wrong outcome, and how to have it again."""
    name, time = ("", case.seed) if case.point is None else case.point
    print(f"WRONG {case}: python -m torture.faults {case.scene} '{case.fault}' '{name}' {time}")
    for line in found[:10]:
        print(f"    {line[:500]}")
    sys.stdout.flush()


def repeat(scene_name: str, fault: str, point: str, number: str) -> int:
    """Have one case again, as it was printed; 1 where it is wrong still."""
    is_race = not point
    case = Case(
        scene_name,
        fault,
        None if is_race else Point(point, int(number)),
        int(number) if is_race else 0,
    )
    with tempfile.TemporaryDirectory() as folder:
        found = Stage(Path(folder)).wrong(case)
    if found:
        report(case, found)
    return int(bool(found))


def _rows(tried: Mapping[str, list[float]], wrong: Mapping[str, int]) -> Iterator[Row]:
    for fault, times in sorted(tried.items()):
        yield Row(
            part="faults",
            case=fault,
            tried=len(times),
            wrong=wrong.get(fault, 0),
            seconds=sum(times),
        )


if __name__ == "__main__":
    sys.exit(repeat(*sys.argv[1:]))
