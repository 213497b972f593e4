"""Erasures among ingests, replays, retakes, maintenance and derived tables, killed at any step.

The runs come in random order, and some maintenance removes old records. After each schedule the
killed erasures are run again, and the erased people are erased once more, with a purge. Then no
file of the lake has a byte of them, all other records are there, also in latest state, and an audit
proves the lake.
"""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from seglake.lake.commit_protocol import no_hook
from seglake.lake.duckdb_sql import literal
from seglake.pipelines.lake_retake.retake_plan import Selection
from support.audits import audited
from support.dying import Died, dying
from support.encoder import Codec
from support.erasures import erased, places_of
from support.lakes import ingested, maintained, read_table, replayed, retaken
from support.latest_state import state, updated
from support.people import BATCH_RECORDS, DAY_MS, FIRST_MS, PEOPLE, key_of, people_disk, value_of
from support.typed_lakes import decoded
from torture.drawn_runs import drawn_runs
from torture.rows import Row

_SCHEDULES = 1000
_MOST_STEPS = 6
_STEP_OFFSETS = 10
_KILLS = (
    *("redo", "records", "gaps", "checkpoints", "erasures", "begun", "files", "rows"),
    *("erased from quarantine", "erased from latest/orders", "latest/orders"),
    *("value_rejects", "typed/orders", "typed_checkpoints"),
)


class Schedule(NamedTuple):
    """What was done, step by step, and the people who were erased."""

    steps: tuple[str, ...]
    erased: tuple[str, ...]


def campaign(seconds: float, seed: int) -> Iterator[Row]:
    """At least a thousand schedules, calm ones and then killed ones."""
    return drawn_runs("erasures", tried, seconds=seconds, seed=seed, least=_SCHEDULES)


def tried(folder: Path, chance: random.Random, kills: bool) -> tuple[Schedule, str]:
    """Run a schedule; return it and what is wrong, empty if nothing."""
    disk = _Disk(folder, chance)
    steps, gone, unfinished = [], set[str](), dict[str, None]()
    disk.grow()
    ingested(disk.path, disk.lake, read={"salvage": True})
    for _ in range(chance.randint(2, _MOST_STEPS)):
        name = chance.choice([*_RUNS])
        kill = chance.choice(_KILLS) if kills and chance.random() < 0.5 else ""
        steps.append(f"{name}!{kill}" if kill else name)
        if name.startswith("erase"):
            gone.add(disk.victim(name))
        done: list[str] = []
        try:
            _RUNS[name](disk, _noted(done, dying(kill)))
            unfinished.pop(name, None)
        except Died:
            if "begun" in done:
                unfinished[name] = None
    schedule = Schedule(tuple(steps), tuple(sorted(gone)))
    try:
        young = disk.young if any(step.startswith("expire") for step in steps) else 0
        return schedule, _wrong(disk, gone, [*unfinished], young=young)
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
        self.young = chance.randint(1, _STEP_OFFSETS - 1)  # offsets below it are old

    def grow(self) -> None:
        self.stop += _STEP_OFFSETS
        people_disk(self.path, self.stop, codec=self.codec, topics=["orders"], as_json=True)

    def older(self) -> Path:
        """Another broker's copy, which ends earlier."""
        stop = max(self.stop - 5, 5)
        return people_disk(
            self.copy, stop, codec=self.codec, topics=["orders"], broker_id=1, as_json=True
        )

    def expire(self, after: Callable[[str], None] = no_hook) -> None:
        """Maintain the lake, and remove the old records."""
        days = (time.time_ns() // 1_000_000 - FIRST_MS) // DAY_MS - self.young + 1
        maintained(self.lake, retention={"records": f"{days}d"}, after=after)

    def victim(self, name: str) -> str:
        """The person whom a step erases: two of the three at most."""
        return self._order[0 if name == "erase_key" else 1]


def _noted(done: list[str], after: Callable[[str], None]) -> Callable[[str], None]:
    """Return a listener that notes each step first."""

    def note(step: str) -> None:
        done.append(step)
        after(step)

    return note


Run = Callable[[_Disk, Callable[[str], None]], object]


def _ingest(disk: _Disk, after: Callable[[str], None]) -> None:
    disk.grow()
    ingested(disk.path, disk.lake, after=after, read={"salvage": True})


def _where(*people: str) -> str:
    return f"key_text IN ({', '.join(literal(key_of(person)) for person in people)})"


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
    "expire": lambda disk, after: disk.expire(after),
    "latest": lambda disk, after: updated(disk.lake, "orders", after=after),
    "deserialize": lambda disk, after: decoded(disk.lake, "orders", after=after),
    "erase_key": lambda disk, after: erased(
        disk.lake, key=key_of(disk.victim("erase_key")), after=after
    ),
    "erase_where": lambda disk, after: erased(
        disk.lake, where=_where(disk.victim("erase_where")), after=after
    ),
}


def _wrong(disk: _Disk, gone: set[str], unfinished: list[str], *, young: int) -> str:
    """Complete everything, purge, and return what is wrong; offsets below `young` have expired."""
    ingested(disk.path, disk.lake, read={"salvage": True})
    if unfinished and not audited(disk.lake).not_erased:
        return "the audit does not name the killed erasure"
    for name in unfinished:
        _RUNS[name](disk, no_hook)
    if young:
        disk.expire()
    if gone:
        erased(disk.lake, where=_where(*sorted(gone)), purges=True)
    for name in ("latest", "typed"):
        if (disk.lake / name / "orders").exists():
            _RUNS["latest" if name == "latest" else "deserialize"](disk, no_hook)
    rows = {row["offset"]: row["value"] for row in read_table(disk.lake, "records")}
    expected = {
        offset: value_of(offset, as_json=True)
        for offset in range(young // BATCH_RECORDS * BATCH_RECORDS, disk.stop)
        if PEOPLE[offset % len(PEOPLE)] not in gone
        # Old records of the first batch expire, too, if all its young ones are erased.
        and (offset >= young or offset in rows)
    }
    if rows != expected:
        return f"records differ at {sorted(rows.items() ^ expected.items())[:5]}"
    if (disk.lake / "latest" / "orders").exists():
        newest = {offset % len(PEOPLE): offset for offset in sorted(expected)}
        found = sorted(row["offset"] for row in state(disk.lake, "orders"))
        if found != sorted(newest.values()):
            return f"latest state has {found}"
    for person in sorted(gone):
        for needle in (key_of(person), f"secret of {person}"):
            if places := places_of(disk.lake, needle.encode()):
                return f"{needle} is in {places}"
    if code := audited(disk.lake).exit_code:
        return f"the audit ends with {code}"
    return ""
