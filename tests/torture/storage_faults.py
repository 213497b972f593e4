"""Every n-th call to the storage, or to delta-rs, goes wrong: then a normal run completes the lake.

What each run must do: end with an exit code, and with one paragraph if it failed; and have
everything if it says so. The lake is compared with that of a clean run, past the product.
"""

import contextlib
import io
import multiprocessing
import os
import re
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

from seglake.cli.outcome import run_job
from seglake.errors import ExitCode
from seglake.storage.storage import Storage
from support.faulty_storage import KINDS, Fault, FaultPlan, FaultyStorage, How, Op, faulty_tables
from support.lake_accounts import incomplete, rows_of, unpublished
from torture.rows import Row
from torture.storage_places import LocalPlace, Place
from torture.storage_scenes import SCENES, Answer, Scene

_AT_A_TIME = 8
_PAYLOAD = re.compile(r"[a-z]+-\d@\d|\d@\d+\\?x?0")  # how values begin
_SEEN = "observations "
Tables = dict[str, list[str]]


class Point(NamedTuple):
    """Where something goes wrong."""

    scene: str
    fault: Fault

    def __str__(self) -> str:
        return f"{self.scene}: {self.fault}"


class Ended(NamedTuple):
    """A run's answer, and what it printed on stderr."""

    answer: Answer
    errors: str


class Clean(NamedTuple):
    """What a run leaves that nothing happens to, and how many calls it makes of each kind."""

    answer: Answer
    tables: Tables
    counts: Counter[Op]


class Stage:
    """The scenes, each made in a local folder when it is first asked for, and played in a place."""

    def __init__(self, folder: Path, place: Place | None = None) -> None:
        self._folder = folder
        self._place = LocalPlace(folder) if place is None else place
        self._storage = self._place.storage()
        self._clean: dict[str, Clean] = {}

    def clean(self, name: str) -> Clean:
        """Play a scene with nothing happening."""
        if name not in self._clean:
            base = self._base(name)
            base.mkdir()
            SCENES[name].make(base)
            plan = FaultPlan()
            ended = self._played(name, self._place.laid_out(base), plan)
            if ended.answer.code not in (ExitCode.DONE, ExitCode.LOOK):
                raise ValueError(f"{name} is no scene: {ended}")
            self._clean[name] = Clean(ended.answer, _tables(self._place.found()), plan.counts)
        return self._clean[name]

    def points(self, name: str) -> list[Point]:
        """Everything that can become of each call of a clean run."""
        counts = self.clean(name).counts
        return [
            Point(name, Fault(op, how, n))
            for op, kinds in KINDS.items()
            for how in kinds
            for n in ((1, counts[op]) if how is How.SLOW else range(1, counts[op] + 1))
            if counts[op]
        ]

    def wrong(self, point: Point) -> list[str] | None:
        """What was otherwise than promised; None where no call was the n-th."""
        scene, clean = SCENES[point.scene], self.clean(point.scene)
        uri = self._place.laid_out(self._base(point.scene))
        plan = FaultPlan(point.fault)
        ended = self._played(point.scene, uri, plan)
        if not plan.met:
            return None
        found = wrongly_said(ended, plan)
        if not scene.writes:
            return found + _wrong_answer(ended, clean.answer, plan)
        folder = self._place.found()
        if ended.answer.code != ExitCode.FAILED and ended.answer.is_whole:
            # What a run saw of logs without news is its own matter.
            rows = [line for line in _wrong_rows(folder, clean) if not line.startswith(_SEEN)]
            found += [f"as if whole: {line}" for line in rows]
        else:
            found += incomplete(folder / "lake") if (folder / "lake").exists() else []
        again = self._played(point.scene, uri, FaultPlan())
        if again.answer.code not in (ExitCode.DONE, clean.answer.code):
            found.append(f"the next run ended with {again}")
        folder = self._place.found()
        found += _wrong_rows(folder, clean)
        if unpublished(folder / "lake"):  # a try that never decided goes with the run behind
            self._played(point.scene, uri, FaultPlan())
            folder = self._place.found()
            found += [*unpublished(folder / "lake"), *_wrong_rows(folder, clean)]
        return found

    def _played(self, name: str, uri: str, plan: FaultPlan) -> Ended:
        return played(SCENES[name], uri, FaultyStorage(self._storage, plan), plan)

    def _base(self, name: str) -> Path:
        return self._folder / name


def played(scene: Scene, folder: str, storage: Storage, plan: FaultPlan) -> Ended:
    """Play a scene as a command does; what is no foreseen end has a traceback for its errors."""
    answers = []

    def job() -> int:
        answers.append(scene.act(folder, storage))
        return answers[0].code

    with contextlib.redirect_stderr(io.StringIO()) as errors, faulty_tables(plan):
        try:
            code = run_job(job, verbose=False, writes=scene.writes)
        except Exception:  # noqa: BLE001  # what a command would call a fault of its own
            code = -1
            traceback.print_exc()
    return Ended(answers[0] if answers else Answer(code), errors.getvalue())


def wrongly_said(ended: Ended, plan: FaultPlan) -> list[str]:
    """What is wrong with how a run ended, and with what it says of that."""
    fault, code = plan.fault, ended.answer.code
    if fault is None:
        return []
    if code not in (ExitCode.DONE, ExitCode.FAILED, ExitCode.LOOK):
        return [f"it ended with {code}: {ended.errors}"]
    if fault.how is How.SLOW and (code == ExitCode.FAILED or not ended.answer.is_whole):
        return [f"it was only slow: {ended}"]
    found = []
    if fault.op is Op.SYNC and fault.how in _FAILURES and code == ExitCode.DONE:
        found.append(f"nobody heard that {plan.met} may not last")
    if code == ExitCode.FAILED:
        is_paragraph = ended.errors.startswith("seglake: ") and ended.errors.count("\n") == 1
        if not is_paragraph:
            found.append(f"no paragraph: {ended.errors}")
        if fault.how is How.NO_MEMORY:
            is_named = "memory" in ended.errors.lower()
        else:
            is_named = _names(ended.errors, plan) and any(why in ended.errors for why in _WHY)
        if not is_named:
            found.append(f"{plan.met} is not named: {ended.errors}")
    if _PAYLOAD.search(ended.errors):
        found.append(f"payload: {ended.errors}")
    return found


_FAILURES = (How.FAIL, How.FAIL_FROM_NOW_ON, How.DISK_FULL)
_WHY = (os.strerror(5), os.strerror(28), "when it was opened")


def _names(text: str, plan: FaultPlan) -> bool:
    """Whether a text names one of the places where something went wrong."""
    return any(path.rstrip("/").rpartition("/")[2] in text for path in plan.met)


def _wrong_answer(ended: Ended, clean: Answer, plan: FaultPlan) -> list[str]:
    """A run that only reads gives the whole answer, or fails, or names what it could not read."""
    if ended.answer.code == ExitCode.FAILED or ended.answer.says == clean.says:
        return []
    if _names(ended.answer.says, plan):
        return []
    return [f"another answer: {ended.answer.says[:2000]}"]


def _tables(folder: Path) -> Tables:
    return rows_of(folder / "lake") if (folder / "lake").exists() else {}


def _wrong_rows(folder: Path, clean: Clean) -> list[str]:
    """What the lake has otherwise than behind a clean run."""
    now = _tables(folder)
    found = incomplete(folder / "lake")
    for table in sorted({*now, *clean.tables}):
        expected, rows = (Counter(tables.get(table, [])) for tables in (clean.tables, now))
        found += [f"{table} lacks {row}" for row in (expected - rows).elements()]
        found += [f"{table} has {row}" for row in (rows - expected).elements()]
    return found


class _Tried(NamedTuple):
    """What came of one point."""

    point: Point
    wrong: list[str] | None
    seconds: float


_stages: list[Stage] = []
MakePlace = Callable[[Path, int], Place]
"""A place of its own for a process, which is given a local folder and its number."""


def _begin(make_place: MakePlace) -> None:
    """Give a worker process its own stage."""
    folder = Path(tempfile.mkdtemp(prefix="storage-faults-"))
    _stages.append(Stage(folder, make_place(folder, os.getpid())))


def _points(scene: str) -> list[Point]:
    return _stages[0].points(scene)


def _tried(points: Sequence[Point]) -> list[_Tried]:
    found = []
    for point in points:
        begun = time.monotonic()
        wrong = _stages[0].wrong(point)
        found.append(_Tried(point, wrong, time.monotonic() - begun))
    return found


def wrong_at(scene: str, op: str, how: str, n: int) -> list[str] | None:
    """Repeat one point of a campaign; what goes wrong there."""
    with tempfile.TemporaryDirectory() as folder:
        return Stage(Path(folder)).wrong(Point(scene, Fault(Op(op), How(how), n)))


def campaign(seconds: float, seed: int) -> Iterator[Row]:
    """Draw points of all scenes until the time is over or each was met, on a local disk."""
    return drawn(seconds, seed, _local, part="storage_faults")


def _local(folder: Path, number: int) -> Place:
    return LocalPlace(folder)


def drawn(seconds: float, seed: int, make_place: MakePlace, *, part: str) -> Iterator[Row]:
    """Draw points of all scenes until the time is over or each was met."""
    end = time.monotonic() + seconds
    # Not forked: delta-rs, which a caller may have used, does not survive it.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=spawn, initializer=_begin, initargs=(make_place,)) as pool:
        points = [point for found in pool.map(_points, SCENES) for point in found]
        Random(seed).shuffle(points)
        tried: list[_Tried] = []
        while len(tried) < len(points) and time.monotonic() < end:
            batch = points[len(tried) : len(tried) + _AT_A_TIME * (os.cpu_count() or 1)]
            chunks = [batch[i :: os.cpu_count() or 1] for i in range(os.cpu_count() or 1)]
            found = [each for chunk in pool.map(_tried, chunks) for each in chunk]
            _report(found)
            tried += found
    # A run makes a few calls less when the newest commit is a minute old.
    met = [each for each in tried if each.wrong is not None]
    print(f"{part}: {len(met):,} of {len(points):,} points met")
    yield from _rows(met, part)


def _report(tried: Sequence[_Tried]) -> None:
    """Print wrong outcomes, and how to have each again."""
    for point, wrong, _ in tried:
        if wrong:
            op, how, n = point.fault
            again = (point.scene, op.value, how.value, n)
            print(f"WRONG {point}  (torture.storage_faults.wrong_at{again})")
            for line in wrong[:6]:
                print(f"    {line[:600]}")
    sys.stdout.flush()


def _rows(tried: Sequence[_Tried], part: str) -> Iterator[Row]:
    for scene in SCENES:
        for how in How:
            mine = [t for t in tried if t.point.scene == scene and t.point.fault.how is how]
            if mine:
                yield Row(
                    part=part,
                    case=f"{scene}: a call {how.value}",
                    tried=len(mine),
                    wrong=sum(bool(each.wrong) for each in mine),
                    seconds=sum(each.seconds for each in mine),
                )
