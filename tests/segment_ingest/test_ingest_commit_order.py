"""A run that dies, races or loses its source leaves a lake that adds up and the next run completes.

All of it goes through the public `ingest`.
"""

import json
import resource
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from seglake.errors import SeglakeError
from seglake.lake.tables import LOG_TABLES
from support import ingest_drivers
from support.accounts import imbalances_of
from support.cases import cases, every
from support.ingest_drivers import EXIT_CODE_OF_THE_DEAD, WAVES
from support.lakes import Sections, ingested, read_table, versions
from support.made_logs import make_log_dir
from support.processes import young
from support.taken import records_taken
from support.three_logs import EDGES, VALUE_BYTES, all_records

_STEPS = ("redo", *(table.name for table in LOG_TABLES.of(["orders"])), "cleaned")
_DEATHS = [(step, 1 + index % 2 * 2) for index, step in enumerate(_STEPS)]  # in commit 1 or 3
_OF_THE_DEAD = pytest.mark.xdist_group("lakes of the dead")


def _exit_codes(
    target: Callable[..., None], groups: Sequence[Sequence[tuple[object, ...]]], folder: Path
) -> list[int]:
    """Run the target in groups of processes."""
    answer = folder / "exit_codes.json"
    mother = young().Process(target=ingest_drivers.fork_each, args=(target, groups, answer))
    mother.start()
    mother.join(120)
    assert mother.exitcode == 0
    codes: list[int] = json.loads(answer.read_text())
    return codes


@pytest.fixture(scope="module")
def lakes_of_the_dead(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A source, and a folder with a lake for each step of the first or third commit at which the
    run was killed."""
    folder = tmp_path_factory.mktemp("dead")
    source = make_log_dir(folder / "data", EDGES, value_bytes=VALUE_BYTES)
    deaths = [(source, folder / step, step, time) for step, time in _DEATHS]
    groups = [deaths[start : start + 2] for start in range(0, len(deaths), 2)]
    codes = _exit_codes(ingest_drivers.ingest_and_die, groups, folder)
    assert codes == [EXIT_CODE_OF_THE_DEAD] * len(deaths)
    return source, folder


@_OF_THE_DEAD
@pytest.mark.parametrize("step", cases(_STEPS, telling=every(3, _STEPS)))
def test_a_run_killed_after_any_step_is_completed_by_the_next(
    step: str, lakes_of_the_dead: tuple[Path, Path], tmp_path: Path
) -> None:
    source, lakes = lakes_of_the_dead
    lake = tmp_path / "lake"
    shutil.copytree(lakes / step, lake)
    before = records_taken(lake)
    summary = ingested(source, lake)
    is_unfinished = step in ("records", "batches", "quarantine", "gaps")
    assert bool(summary.recovered_topics) == is_unfinished
    assert summary.exit_code == 0
    assert len(before) + summary.records == len(all_records())
    assert records_taken(lake) == all_records()
    assert imbalances_of(lake) == []
    assert ingested(source, lake).topics == []
    assert not list((lake / "records" / "_seglake" / "redo").iterdir())


@_OF_THE_DEAD
@pytest.mark.parametrize("step", cases(["records", "quarantine"], telling=["quarantine"]))
def test_a_decided_commit_is_completed_although_its_source_is_gone(
    step: str, lakes_of_the_dead: tuple[Path, Path], tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(lakes_of_the_dead[1] / step, lake)
    before, ranges = records_taken(lake), len(read_table(lake, "checkpoints"))
    assert before
    assert imbalances_of(lake) != []
    other = make_log_dir(tmp_path / "other", {("elsewhere", 0): [0, 5]})
    summary = ingested(other, lake)
    assert summary.exit_code == 0
    assert summary.recovered_topics == ["orders"]
    assert len(read_table(lake, "checkpoints")) > ranges + 1
    assert [made for made in records_taken(lake) if made.topic != "elsewhere"] == before
    assert imbalances_of(lake) == []


def test_two_drivers_on_one_lake_take_every_row_once(source: Path, tmp_path: Path) -> None:
    rounds: list[Sections] = [{}, WAVES]
    groups = [
        [
            (source, tmp_path / f"lake{number}", tmp_path / f"{number}-{driver}", sections)
            for driver in range(2)
        ]
        for number, sections in enumerate(rounds)
    ]
    codes = _exit_codes(ingest_drivers.ingest_beside_others, groups, tmp_path)
    assert codes == [0] * len(codes)
    for number in range(len(rounds)):
        lake = tmp_path / f"lake{number}"
        ends = [json.loads((tmp_path / f"{number}-{driver}").read_text()) for driver in range(2)]
        assert [exit_code for exit_code, _ in ends] == [0, 0]
        assert sum(records for _, records in ends) == len(all_records())
        assert records_taken(lake) == all_records()
        assert imbalances_of(lake) == []


@contextmanager
def _full_disk(largest_file_bytes: int) -> Iterator[None]:
    """No file can grow beyond some bytes: a write fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("largest_file_bytes", "value_bytes"),
    [(100, 1024), (30_000, 1024), (30_000, 64 * 1024)],
    ids=["tables", "end_of_a_file", "middle_of_a_file"],
)
def test_a_full_disk_fails_the_run_and_the_next_one_takes_everything(
    largest_file_bytes: int, value_bytes: int, tmp_path: Path
) -> None:
    source = make_log_dir(tmp_path / "data", EDGES, value_bytes=value_bytes)
    lake = tmp_path / "lake"
    with _full_disk(largest_file_bytes), pytest.raises(SeglakeError, match="File too large"):
        ingested(source, lake, makes_lake=True)
    assert records_taken(lake) == []
    assert set(versions(lake).values()) <= {0}
    assert ingested(source, lake).exit_code == 0
    assert records_taken(lake) == all_records(value_bytes)
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("step", cases(_STEPS[:-1], telling=every(2, _STEPS[1:-1])))
def test_a_disk_that_fills_up_during_a_commit_leaves_what_the_next_run_completes(
    step: str, source: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(done: str) -> None:
        if done == step:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))

    try:
        # Behind the checkpoints all is published, and only what the run saw is not recorded.
        failure = "cannot write" if step == "checkpoints" else "safe to run again"
        with pytest.raises(SeglakeError, match=failure):
            ingested(source, lake, after=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ingested(source, lake).exit_code == 0
    assert records_taken(lake) == all_records()
    assert imbalances_of(lake) == []
