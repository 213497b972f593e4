"""What the faults happen to: each command of the product at work on a small lake of its own."""

import io
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from seglake.cli.main import main
from seglake.errors import ExitCode
from support.damaged_replicas import batches_in
from support.elected_logs import write_elected
from support.encoder import Partition, Segment
from support.internal_logs import INTERNAL, OFFSETS, commits
from support.lake_accounts import incomplete, left_behind, records_of, rows_of, unpublished
from support.lakes import ingested
from support.made_logs import TOPIC_IDS, made_segments, make_log_dir, write_over
from support.named_points import Point, held, points_of
from support.retaken_lakes import LOSER, TO_LOG_END, WINNER
from support.three_logs import EDGES, VALUE_BYTES

_PIECES = ("--set", "read.split_bytes=65536", "--set", "read.window_bytes=65536")
_WAVES = (*_PIECES, "--set", "write.wave_bytes=131072")
_LESS = {("orders", 0): [0, 40], ("orders", 1): [0, 25, 50], ("payments", 0): [0, 30]}
_COMMITTED = "read_committed"  # as the command has it
_PLACES = ("--source", "{}/disk", "--lake", "{}/lake")


class Rows(NamedTuple):
    """What a run that nothing happened to left, how it ended, and the points that it passed."""

    tables: dict[str, list[str]]
    exit_code: int
    points: list[Point]


@dataclass(frozen=True)
class Scene:
    """A lake, disks, and a command that works on them.

    Attributes:
        base: a folder with both, of which each cycle gets a copy.
        command: words of the command line; {} is the folder.
    """

    name: str
    base: Path
    command: tuple[str, ...]
    scratch: Path

    @property
    def has_two_topics(self) -> bool:
        return self.name in ("first", "more", "recovery")

    @cached_property
    def clean_records(self) -> list[tuple[str, int, int, bytes]]:
        """Every record behind a run that nothing happened to."""
        folder = self.copied("records")
        self.run(folder)
        return records_of(folder / "lake")

    @cached_property
    def clean(self) -> Rows:
        with_points = self.copied("points")
        points, code = points_of(self.argv(with_points))
        if code not in (0, 3):
            raise ValueError(f"{self.name} is no scene: its run ends with {code}")
        self.run(with_points)
        return Rows(rows_of(with_points / "lake"), code, points)

    def copied(self, name: str) -> Path:
        """A copy of the base for one cycle, over one of that name."""
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        return shutil.copytree(self.base, folder)

    def argv(self, folder: Path, *more: str) -> list[str]:
        return [word.replace("{}", str(folder)) for word in (*self.command, *more)]

    def run(self, folder: Path) -> int:
        """Run the command in this process, where nothing happens to it."""
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return main(self.argv(folder))

    def ends_well(self, code: int) -> bool:
        """Whether a run that came to its end may end so; with nothing to do it ends with 0.

        A maintenance says that it could not swap files, also where another one did.
        """
        return code in (0, self.clean.exit_code, *[ExitCode.LOOK] * (self.name == "maintain"))

    def wrong(self, folder: Path, *, whole: Rows | None = None) -> list[str]:
        """What is otherwise than behind a clean run, after one more normal run.

        Args:
            whole: what is to be there, where the disks are others by now.
        """
        lake = folder / "lake"
        found = incomplete(lake)
        again = self.run(folder)
        expected = self.clean if whole is None else whole
        if again not in (0, expected.exit_code):
            found.append(f"the next run ended with {again}")
        if left_behind(lake):  # by a commit that can no longer happen, which the next run sees
            self.run(folder)
            found += [f"{name} is left" for name in left_behind(lake)]
        found += [*incomplete(lake), *unpublished(lake)]
        now = rows_of(lake)
        for table in sorted({*expected.tables, *now}):
            before, after = expected.tables.get(table, []), now.get(table, [])
            found += [f"{table} lacks {row}" for row in less(before, after)]
            found += [f"{table} has {row}" for row in less(after, before)]
        return found


def less(rows: list[str], others: list[str]) -> list[str]:
    """The rows that are not among the others, each as often as it is there more."""
    left = list(rows)
    for row in others:
        if row in left:
            left.remove(row)
    return left


def scene(name: str, folder: Path) -> Scene:
    """Make one of the scenes in a folder of its own."""
    base = folder / "base"
    base.mkdir(parents=True)
    words = SCENES[name](base)
    command = (*words, "--engine", "local", "--set", "limits.local_processes=1")
    return Scene(name, base, command, folder)


def _first(base: Path) -> tuple[str, ...]:
    """There is no lake yet."""
    _damage(make_log_dir(base / "disk", EDGES, value_bytes=VALUE_BYTES), 5)
    return ("ingest", *_PLACES, *_WAVES)


def _more(base: Path) -> tuple[str, ...]:
    """The log has grown since the last run, and a batch is damaged."""
    ingested(
        make_log_dir(base / "disk", _LESS, value_bytes=VALUE_BYTES),
        base / "lake",
        isolation=_COMMITTED,
    )
    _damage(make_log_dir(base / "disk", EDGES, value_bytes=VALUE_BYTES), 12)
    return ("ingest", *_PLACES, *_WAVES)


def _recovery(base: Path) -> tuple[str, ...]:
    """The last run was killed in the middle of a commit."""
    command = _more(base)
    _kill_a_run(base, command)
    return command


def _kill_a_run(base: Path, command: Sequence[str]) -> None:
    argv = [word.replace("{}", str(base)) for word in (*command, "--engine", "local")]
    with held(argv) as run:
        run.reach(Point("batches", 0))
        run.kill()


def _repair(base: Path) -> tuple[str, ...]:
    """A replica comes that has what is damaged in the lake."""
    _damaged_lake(base)
    return ("ingest", *_PLACES)


def _replay(base: Path) -> tuple[str, ...]:
    """The same, for `replay`."""
    _damaged_lake(base)
    return ("replay", *_PLACES)


def _retake(base: Path) -> tuple[str, ...]:
    """The lake has what lost an election, and knows."""
    loser = write_elected(base / "disk", LOSER)
    ingested(loser, base / "lake", isolation=_COMMITTED, read=TO_LOG_END)
    write_elected(base / "disk", WINNER, broker_id=1)
    ingested(base / "disk", base / "lake", isolation=_COMMITTED)
    return ("retake", *_PLACES)


def _election(base: Path) -> tuple[str, ...]:
    """The lake has what lost an election, which the run finds."""
    loser = write_elected(base / "disk", LOSER)
    ingested(loser, base / "lake", isolation=_COMMITTED, read=TO_LOG_END)
    write_elected(base / "disk", WINNER, broker_id=1)
    return ("ingest", *_PLACES)


def _internal(base: Path) -> tuple[str, ...]:
    """A topic of Kafka's own beside another: one more table."""
    offsets = Partition(OFFSETS, 0, [Segment(0, [commits(0, 1, 2), commits(2, 3)])])
    orders = made_segments("orders", 0, [0, 20], value_bytes=VALUE_BYTES)
    own = Partition("orders", 0, orders, topic_id=TOPIC_IDS["orders"])
    write_over(base / "disk", [offsets])
    ingested(base / "disk", base / "lake", isolation=_COMMITTED, select=INTERNAL)
    more = Partition(OFFSETS, 0, [Segment(0, [commits(0, 1, 2), commits(2, 3), commits(3, 9)])])
    write_over(base / "disk", [more, own])
    return ("ingest", *_PLACES, "--internal-topics")


def _maintain(base: Path) -> tuple[str, ...]:
    """A lake of three runs and one that was killed, with what a dead run left long ago."""
    for stop in (10, 20, 30, 40):
        edges = {("orders", 0): [0, stop], ("payments", 0): [0, stop]}
        disk = make_log_dir(base / "disk", edges)
        if stop < 40:
            ingested(disk, base / "lake", isolation=_COMMITTED)
    _kill_a_run(base, ("ingest", *_PLACES))
    left = base / "lake" / "records" / "topic=orders" / "left.parquet"
    left.write_bytes(b"left")
    os.utime(left, (0, 0))
    return ("maintain", "--lake", "{}/lake")


def _damaged_lake(base: Path) -> None:
    disk = make_log_dir(base / "disk", EDGES, value_bytes=VALUE_BYTES)
    _damage(disk, 1, 5)
    ingested(disk, base / "lake", isolation=_COMMITTED)
    make_log_dir(base / "disk", EDGES, value_bytes=VALUE_BYTES, broker_id=1)


def _damage(disk: Path, *batches: int) -> Path:
    for index in batches:
        batches_in(disk / "orders-0")[index].damage()
    return disk


SCENES: Mapping[str, Callable[[Path], tuple[str, ...]]] = {
    "first": _first,
    "more": _more,
    "recovery": _recovery,
    "repair": _repair,
    "replay": _replay,
    "retake": _retake,
    "election": _election,
    "internal": _internal,
    "maintain": _maintain,
}
