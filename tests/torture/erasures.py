"""Erasures among ingests, replays, retakes and maintenance, in random orders, killed at any step.

After each schedule the erased people are erased once more, with a purge. Then no file of the lake
has a byte of them, all other records are there, and an audit proves the lake.
"""

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from seglake.pipelines.lake_retake.retake_plan import Selection
from support.audits import audited
from support.dying import Died, dying
from support.encoder import Codec
from support.erasures import erased, places_of
from support.lakes import ingested, maintained, read_table, replayed, retaken
from support.people import PEOPLE, key_of, people_disk, value_of
from torture.rows import Row

_MOST_STEPS = 6
_STEP_OFFSETS = 10
_KILLS = ("redo", "records", "gaps", "checkpoints", "erasures", "erased from quarantine", "files")
_CASES = ("calm", "killed")


class Schedule(NamedTuple):
    """What was done, step by step, and the people who were erased."""

    steps: tuple[str, ...]
    erased: tuple[str, ...]


def campaign(seconds: float, seed: int) -> Iterator[Row]:
    """Schedules, one after the other; the same seed gives the same ones."""
    for number, case in enumerate(_CASES):
        started, tried_count, wrong = time.monotonic(), 0, 0
        while time.monotonic() - started < seconds / len(_CASES):
            chance = random.Random(f"{seed}/{number}/{tried_count}")
            with tempfile.TemporaryDirectory() as folder:
                schedule, problem = tried(Path(folder), chance, kills=case == "killed")
            if problem:
                wrong += 1
                print(f"WRONG: erasures {seed}/{number}/{tried_count}: {schedule}: {problem}")
            tried_count += 1
        yield Row(
            part="erasures",
            case=case,
            tried=tried_count,
            wrong=wrong,
            seconds=time.monotonic() - started,
        )


def tried(folder: Path, chance: random.Random, *, kills: bool) -> tuple[Schedule, str]:
    """Run a schedule; return it and what is wrong, empty if nothing."""
    disk = _Disk(folder, chance)
    steps, gone = [], set[str]()
    disk.grow()
    ingested(disk.path, disk.lake, read={"salvage": True})
    for _ in range(chance.randint(2, _MOST_STEPS)):
        name = chance.choice([*_RUNS])
        kill = chance.choice(_KILLS) if kills and chance.random() < 0.5 else ""
        steps.append(f"{name}!{kill}" if kill else name)
        if name.startswith("erase"):
            gone.add(disk.victim(name))
        try:
            _RUNS[name](disk, dying(kill))
        except Died:
            continue
    schedule = Schedule(tuple(steps), tuple(sorted(gone)))
    try:
        return schedule, _wrong(disk, gone)
    except BaseException:
        print(f"erasures: {schedule}", flush=True)
        raise


class _Disk:
    """A disk that grows, with the lake that it is ingested into."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.path, self.copy, self.lake = folder / "disk", folder / "copy", folder / "lake"
        self.codec = chance.choice([Codec.NONE, Codec.GZIP])
        self._order = chance.sample(PEOPLE, len(PEOPLE))
        self.stop = 0

    def grow(self) -> None:
        self.stop += _STEP_OFFSETS
        people_disk(self.path, self.stop, codec=self.codec, topics=["orders"])

    def older(self) -> Path:
        """Another broker's copy, which ends earlier."""
        stop = max(self.stop - 5, 5)
        return people_disk(self.copy, stop, codec=self.codec, topics=["orders"], broker_id=1)

    def victim(self, name: str) -> str:
        """The person whom a step erases: two of the three at most."""
        return self._order[0 if name == "erase_key" else 1]


Run = Callable[[_Disk, Callable[[str], None]], object]


def _ingest(disk: _Disk, after: Callable[[str], None]) -> None:
    disk.grow()
    ingested(disk.path, disk.lake, after=after, read={"salvage": True})


def _where(person: str) -> str:
    return f"key_text = '{key_of(person)}'".replace("'s", "''s")


_RUNS: dict[str, Run] = {
    "ingest": _ingest,
    "ingest_older": lambda disk, after: ingested(
        [disk.path, disk.older()], disk.lake, after=after, read={"older_copies": True}
    ),
    "replay": lambda disk, after: replayed(disk.lake, disk.older(), after=after),
    "retake": lambda disk, after: retaken(
        disk.lake,
        disk.path,
        selection=Selection(is_whole=True),
        select={"topics": ["orders"]},
        after=after,
    ),
    "maintain": lambda disk, after: maintained(disk.lake),
    "erase_key": lambda disk, after: erased(
        disk.lake, key=key_of(disk.victim("erase_key")), after=after
    ),
    "erase_where": lambda disk, after: erased(
        disk.lake, where=_where(disk.victim("erase_where")), after=after
    ),
}


def _wrong(disk: _Disk, gone: set[str]) -> str:
    """Complete everything, purge, and return what is wrong."""
    ingested(disk.path, disk.lake, read={"salvage": True})
    for person in sorted(gone):
        erased(disk.lake, key=key_of(person), purges=True)
    rows = {row["offset"]: row["value"] for row in read_table(disk.lake, "records")}
    expected = {
        offset: value_of(offset)
        for offset in range(disk.stop)
        if PEOPLE[offset % len(PEOPLE)] not in gone
    }
    if rows != expected:
        return f"records differ at {sorted(rows.items() ^ expected.items())[:5]}"
    for person in sorted(gone):
        if places := places_of(disk.lake, key_of(person).encode()):
            return f"{person} is in {places}"
        if places := places_of(disk.lake, f"secret of {person}".encode()):
            return f"a secret of {person} is in {places}"
    if code := audited(disk.lake).exit_code:
        return f"the audit ends with {code}"
    return ""
