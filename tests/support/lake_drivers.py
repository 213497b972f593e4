"""Drivers for tests with several processes: each function is one process's life."""

import os
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from seglake.lake.delta_commit import commit_wave, recover
from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import Table
from seglake.lake.waves import TopicWave
from support.lake_rows import (
    SOURCE,
    Lake,
    attempt_of,
    lake_at,
    new_attempt,
    new_lake,
    next_wave,
    wave,
)

EXIT_CODE_OF_THE_DEAD = 9


def commit(
    lake: Lake,
    *waves: TopicWave,
    attempt_id: str = "attempt",
    after: Callable[[str], None] = lambda step: None,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    outcome = commit_wave(lake.tables, attempt_of(SOURCE, attempt_id), waves, after=after)
    return outcome.committed, outcome.lost


def commit_and_die(path: Path, step: str, *waves: TopicWave) -> None:
    """Commit, and be killed when the step is done."""

    def die(done: str) -> None:
        if done == step:
            os._exit(EXIT_CODE_OF_THE_DEAD)

    commit(lake_at(path), *waves, attempt_id="dead", after=die)


def race(path: Path, driver: int, round_count: int, barrier: Barrier, results: Path) -> None:
    """Commit one generation per round, in competition with all other drivers."""
    lake = lake_at(path)
    won = []
    for generation in range(1, round_count + 1):
        offsets = range(generation * 10, generation * 10 + 3)
        mine = wave(lake, "orders", generation, offsets, attempt_id=f"driver-{driver}")
        barrier.wait(60)
        committed, lost = commit(lake, mine, attempt_id=new_attempt())
        if not committed:
            recover(lake.tables, SOURCE, ["orders"])
        won.append(str(int(committed == ("orders",) and not lost)))
        barrier.wait(60)
    (results / str(driver)).write_text("".join(won))


def commit_all(path: Path, driver: int, wave_count: int) -> None:
    """Commit waves of one's own to a topic that others also write, planning again when lost."""
    lake = lake_at(path)
    for number in range(wave_count):
        offset = driver * 1000 + number
        committed: tuple[str, ...] = ()
        while not committed:
            recover(lake.tables, SOURCE, ["orders"])
            mine = next_wave(lake, "orders", range(offset, offset + 1))
            committed, _ = commit(lake, mine, attempt_id=new_attempt())


def recover_together(path: Path, barrier: Barrier) -> None:
    lake = lake_at(path)
    barrier.wait(60)
    recover(lake.tables, SOURCE, ["orders"])


def create_together(path: Path, barrier: Barrier) -> None:
    barrier.wait(60)
    new_lake(path)


def commit_after_the_first_table(lake: Lake, patch: pytest.MonkeyPatch) -> None:
    """Let a whole wave be committed as soon as one table was opened, or looked at."""
    mine = wave(lake, "orders", 1, range(3))

    def overtaken(look: Callable[[LakeTables, Table], object]) -> Callable[..., object]:
        def looked(self: LakeTables, table: Table) -> object:
            seen = look(self, table)
            patch.undo()
            commit(lake_at(lake.path), mine)  # another driver
            return seen

        return looked

    for name in ("open", "state"):
        patch.setattr(LakeTables, name, overtaken(getattr(LakeTables, name)))
