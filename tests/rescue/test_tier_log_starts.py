"""Where a log with a remote tier begins: by checkpoints, by events of deletions, by the lake."""

import gzip
import itertools
from pathlib import Path

import pytest

from seglake.task_engine.engine import Engine
from support.cases import cases
from support.lakes import ingested, replayed
from support.tiers import (
    COPY_FINISHED,
    DELETE_STARTED,
    LOCAL,
    PLAIN,
    ZSTD,
    TieredDisk,
    add_events,
    consumed,
    copied,
    gaps_of,
    id_of,
    in_lake,
    new_id,
    started,
    updated,
)

_LAYOUTS = [LOCAL, PLAIN, ZSTD]


def _start(disk: TieredDisk, old: str, new: str) -> None:
    """Replace a line of the file with log starts."""
    path = disk.data / "log-start-offset-checkpoint"
    text = path.read_text()
    assert f"{old}\n" in text
    path.write_text(text.replace(f"{old}\n", f"{new}\n"))


# The rule about a start knows no layout; each layout is read with one of them.
@pytest.mark.parametrize(
    ("start", "scenario"),
    cases(
        itertools.product([2_000, 100_000, 1 << 60], _LAYOUTS),
        telling={(2_000, LOCAL), (100_000, PLAIN), (1 << 60, ZSTD)},
    ),
)
def test_an_implausible_log_start_hides_nothing_of_the_tier(
    start: int, scenario: str, tmp_path: Path, lake: Path
) -> None:
    disk = copied(scenario, tmp_path / "disk")
    _start(disk, "plain 0 0", f"plain 0 {start}")
    summary = ingested(disk.sources, lake, isolation="read_committed")
    assert summary.exit_code == 0
    assert f"plain-0: the log start offset {start} is above the log end" in summary.to_text()
    assert in_lake(lake) == consumed(scenario, "read_committed")


@pytest.mark.parametrize("scenario", _LAYOUTS)
def test_an_upload_around_the_log_start_is_read_from_there(
    scenario: str, tmp_path: Path, engine: Engine, lake: Path
) -> None:
    disk = copied(scenario, tmp_path / "disk")
    _start(disk, "plain 0 0", "plain 0 150")
    everything = consumed(scenario, "read_committed")
    everything["plain-0"] = [row for row in everything["plain-0"] if row[0] >= 150]
    for _ in range(2):  # no later run brings deleted records back, either
        assert (
            ingested(disk.sources, lake, isolation="read_committed", engine=engine).exit_code == 0
        )
        assert in_lake(lake) == everything
        assert gaps_of(lake, "plain") == {(0, 150, "deleted", None)}
    for sources in ([disk.remote], disk.sources):
        replayed(lake, *sources)
        assert in_lake(lake) == everything
    replayed(lake, disk.remote, tiered={"take_deleted": True})
    assert in_lake(lake) == consumed(scenario, "read_committed")


def test_a_log_start_from_before_deletions_leaves_no_gap_for_the_tier(
    disk: TieredDisk, engine: Engine, lake: Path
) -> None:
    _start(disk, "retained 0 1820", "retained 0 0")
    summary = ingested(disk.sources, lake, isolation="read_committed", engine=engine)
    assert summary.exit_code == 0
    assert {cause for *_, cause, _ in gaps_of(lake, "retained")} == {"deleted"}
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


@pytest.mark.parametrize("was_finished", [True, False])
def test_only_a_finished_upload_that_is_deleted_moves_the_log_start(
    was_finished: bool, disk: TieredDisk, lake: Path
) -> None:
    """A broker deletes what is left of a failed attempt, too, and tries again."""
    place = disk.place("plain")
    first, second = place.objects()[:2]
    stop = int(second.name[:20])
    if was_finished:
        add_events(disk, id_of(first), updated(place, id_of(first), DELETE_STARTED))
    else:
        again = new_id()
        add_events(
            disk,
            id_of(first),
            started(place, again, (0, stop), [(0, 0)]),
            updated(place, again, DELETE_STARTED),
        )
    first.unlink()
    ingested(disk.sources, lake, isolation="read_committed")
    ((start, following, cause, _),) = gaps_of(lake, "plain")
    assert (start, following) == (0, stop)
    assert cause == ("deleted" if was_finished else "remote")


def test_a_deleted_attempt_above_a_live_upload_moves_nothing(disk: TieredDisk, lake: Path) -> None:
    place = disk.place("plain")
    second, third = place.objects()[1:3]
    again = new_id()
    add_events(
        disk,
        id_of(second),
        started(place, again, (0, int(third.name[:20])), [(0, 0)]),
        updated(place, again, COPY_FINISHED),
        updated(place, again, DELETE_STARTED),
    )
    assert ingested(disk.sources, lake, isolation="read_committed").exit_code == 0
    assert in_lake(lake) == consumed(LOCAL, "read_committed")


# Each layout has one segment and two, each place has them, too, and the local tier has all.
@pytest.mark.parametrize(
    ("offset", "count", "scenario"),
    cases(
        itertools.product(["first", "middle"], [1, 2], _LAYOUTS),
        telling={
            *itertools.product(["first", "middle"], [1, 2], [LOCAL]),
            *(("first", 1, PLAIN), ("middle", 2, PLAIN), ("first", 2, ZSTD), ("middle", 1, ZSTD)),
        },
    ),
)
def test_compressed_local_segments_are_read_from_the_tier(
    offset: str, count: int, scenario: str, tmp_path: Path, lake: Path
) -> None:
    disk = copied(scenario, tmp_path / "disk")
    logs = sorted((disk.data / "plain-0").glob("*.log"))
    chosen = logs[:count] if offset == "first" else logs[1 : 1 + count]
    for path in chosen if chosen[-1] != logs[-1] else chosen[:-1]:  # no tier has the last one
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    summary = ingested(disk.sources, lake, isolation="read_committed")
    assert in_lake(lake) == consumed(scenario, "read_committed")
    assert (summary.exit_code, summary.left_out) == (0, {})
