"""Remote tiers with lost, cut, flipped and exchanged objects: nothing is made up or passed over.

Of each damaged copy of a real disk and its tier the same is asked: a run ends with a summary; a row
that the lake has is one that a consumer got; if one is lacking, the run ended with exit code 3; the
audit finds no contradiction; and a run with the whole tier again brings every record that no
damaged bytes have replaced.
"""

import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from seglake.errors import ExitCode
from support.audits import audited
from support.broker_disks import unpacked
from support.lakes import ingested, read_table
from support.tiers import KEYS, TIERS, Rows, consumed, in_lake
from torture.rows import Row

_ISOLATIONS = ("read_committed", "read_uncommitted")
_MOST_CHANGES = 4
_EVENTS = "__remote_log_metadata-*/*.log"

Change = Callable[[random.Random, list[Path]], str]


class Damage(NamedTuple):
    """A damaged copy: its data set, what a consumer asked for, and what was changed."""

    scenario: str
    isolation: str
    changes: tuple[str, ...]


def campaign(seconds: float, seed: int) -> Iterator[Row]:
    """Damaged copies, one after the other; the same seed gives the same ones."""
    counts, wrong, spent = Counter[str](), Counter[str](), dict.fromkeys(TIERS, 0.0)
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            damage, problem = tried(Path(folder), random.Random(f"{seed}/{number}"))
        counts[damage.scenario] += 1
        spent[damage.scenario] += time.monotonic() - started
        if problem:
            wrong[damage.scenario] += 1
            print(f"WRONG: tiers seed {seed}/{number}: {damage}: {problem}", flush=True)
        number += 1
    for name in TIERS:
        row = (counts[name], wrong[name], spent[name])
        yield Row(part="tiers", case=name, tried=row[0], wrong=row[1], seconds=row[2])


def tried(folder: Path, chance: random.Random) -> tuple[Damage, str]:
    """Damage a copy and ingest it; return what was done and what is wrong, empty if nothing."""
    scenario, isolation = chance.choice(TIERS), chance.choice(_ISOLATIONS)
    copy = folder / "disk"
    shutil.copytree(unpacked(scenario), copy)
    objects = sorted(path for path in (copy / "remote").rglob("*") if path.is_file())
    events = sorted((copy / "data").glob(_EVENTS))
    changes = tuple(
        chance.choice(_CHANGES)(chance, events if chance.random() < 0.1 else objects)
        for _ in range(chance.randint(1, _MOST_CHANGES))
    )
    damage = Damage(scenario, isolation, changes)
    try:
        return damage, _wrong(copy, folder / "lake", damage)
    except BaseException:
        print(f"tiers: {damage}", flush=True)
        raise


def _wrong(copy: Path, lake: Path, damage: Damage) -> str:
    """Ingest a damaged copy, then the whole one; return what is wrong."""
    truth, everything = _truth(damage.scenario)
    code = ingested(copy, lake, isolation=damage.isolation, tiered=KEYS).exit_code
    found = in_lake(lake)
    for name, rows in found.items():
        if len({row[0] for row in rows}) < len(rows):
            return f"{name} has an offset twice"
        if made_up := [row[0] for row in rows if everything.get(name, {}).get(row[0], row) != row]:
            return f"{name} has other bytes at {made_up[:5]}"
    lacking = _lacking(truth[damage.isolation], found)
    if lacking and code != ExitCode.LOOK:
        return f"exit code {code}, and these are lacking: {lacking}"
    if audited(lake).exit_code not in (ExitCode.DONE, ExitCode.LOOK):
        return f"the audit ends with {audited(lake).exit_code}"
    ingested(unpacked(damage.scenario), lake, isolation=damage.isolation, tiered=KEYS)
    lost = _lacking(truth[damage.isolation], in_lake(lake))
    kept = {(row["topic"], row["partition"]) for row in read_table(lake, "quarantine")}
    if lost and not kept:
        return f"the whole tier did not bring {lost}"
    return ""


def _lacking(truth: dict[str, Rows], found: dict[str, Rows]) -> dict[str, list[int]]:
    """Return the first offsets that a consumer got and a lake lacks, by partition."""
    named = {
        name: sorted({row[0] for row in rows} - {row[0] for row in found.get(name, [])})
        for name, rows in truth.items()
    }
    return {name: offsets[:5] for name, offsets in named.items() if offsets}


@cache
def _truth(
    scenario: str,
) -> tuple[dict[str, dict[str, Rows]], dict[str, dict[int, tuple[object, ...]]]]:
    """Return what a consumer got by isolation and partition, and every record by its offset."""
    truth = {isolation: consumed(scenario, isolation) for isolation in _ISOLATIONS}
    every = truth["read_uncommitted"].items()
    return truth, {name: {row[0]: row for row in rows} for name, rows in every}


def _flipped(chance: random.Random, files: list[Path]) -> str:
    path = chance.choice(files)
    content = bytearray(path.read_bytes())
    if content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
    return f"a bit of {path.name}"


def _cut(chance: random.Random, files: list[Path]) -> str:
    path = chance.choice(files)
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content) + 1)])
    return f"{path.name} cut"


def _overwritten(chance: random.Random, files: list[Path]) -> str:
    path = chance.choice(files)
    content = bytearray(path.read_bytes())
    start = chance.randrange(len(content) + 1)
    content[start : start + 200] = chance.randbytes(len(content[start : start + 200]))
    path.write_bytes(content)
    return f"200 bytes of {path.name} at {start}"


def _exchanged(chance: random.Random, files: list[Path]) -> str:
    """Exchange objects of one partition: no record says of which partition it is."""
    one = chance.choice(files)
    alike = [path for path in files if (path.parent, path.suffix) == (one.parent, one.suffix)]
    other = chance.choice(alike)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    return f"{one.name} and {other.name} exchanged"


def _emptied(chance: random.Random, files: list[Path]) -> str:
    path = chance.choice(files)
    path.write_bytes(b"")
    return f"{path.name} empty"


def _lost(chance: random.Random, files: list[Path]) -> str:
    path = files.pop(chance.randrange(len(files)))
    path.unlink()
    return f"{path.name} lost"


_CHANGES: tuple[Change, ...] = (_flipped, _cut, _overwritten, _exchanged, _emptied, _lost)
