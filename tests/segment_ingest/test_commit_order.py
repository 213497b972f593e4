"""A run that dies, races or loses its source leaves a lake that adds up and the next run completes.

All of it goes through the public `ingest`.
"""

import json
import multiprocessing
import resource
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from seglake.errors import SeglakeError
from seglake.lake import app_versions
from seglake.lake.delta_commit import recover
from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import tables_of
from seglake.pipelines.segment_ingest import ingest as run
from seglake.pipelines.segment_ingest import run_context
from seglake.storage.local_storage import LocalStorage
from support import ingest_drivers
from support.accounts import imbalances_of
from support.ingest_drivers import EXIT_CODE_OF_THE_DEAD, WAVES
from support.lakes import Sections, ingested, ingested_in_pieces, read_table, versions
from support.made_logs import Made, made_records, make_log_dir
from support.meanwhile import Meanwhile, once
from support.taken import offsets_taken, records_taken

_SPAWN = multiprocessing.get_context("spawn")
_EDGES = {
    ("orders", 0): [0, 40, 80, 120],
    ("orders", 1): [0, 25, 50],
    ("payments", 0): [0, 30, 90],
}
_VALUE_BYTES = 1024
_STEPS = ("redo", *(table.name for table in tables_of(["orders"])), "cleaned")
_DEATHS = [(step, 1 + index % 2 * 2) for index, step in enumerate(_STEPS)]  # in commit 1 or 3


def _everything(value_bytes: int = _VALUE_BYTES) -> list[Made]:
    ranges = {key: range(stops[-1]) for key, stops in _EDGES.items()}
    return made_records(ranges, value_bytes=value_bytes)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "data", _EDGES, value_bytes=_VALUE_BYTES)


def _exit_codes(
    target: Callable[..., None], groups: Sequence[Sequence[tuple[object, ...]]], folder: Path
) -> list[int]:
    """Run the target in groups of processes."""
    answer = folder / "exit_codes.json"
    mother = _SPAWN.Process(target=ingest_drivers.fork_each, args=(target, groups, answer))
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
    source = make_log_dir(folder / "data", _EDGES, value_bytes=_VALUE_BYTES)
    deaths = [(source, folder / step, step, time) for step, time in _DEATHS]
    groups = [deaths[start : start + 2] for start in range(0, len(deaths), 2)]
    codes = _exit_codes(ingest_drivers.ingest_and_die, groups, folder)
    assert codes == [EXIT_CODE_OF_THE_DEAD] * len(deaths)
    return source, folder


@pytest.mark.parametrize("step", _STEPS)
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
    assert len(before) + summary.records == len(_everything())
    assert records_taken(lake) == _everything()
    assert imbalances_of(lake) == []
    assert ingested(source, lake).topics == []
    assert not list((lake / "records" / "_seglake" / "redo").iterdir())


@pytest.mark.parametrize("step", ["records", "quarantine"])
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
    rounds: list[Sections] = [{}, {}, WAVES, WAVES]
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
        assert sum(records for _, records in ends) == len(_everything())
        assert records_taken(lake) == _everything()
        assert imbalances_of(lake) == []


def test_a_commit_of_another_run_between_versions_and_ledger_is_not_taken_again(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other run has decided when ours plans, and publishes while ours decodes."""
    lake = tmp_path / "lake"
    is_decided, may_publish = threading.Event(), threading.Event()

    def other_run() -> None:
        def pause(step: str) -> None:
            if step == "records":
                is_decided.set()
                may_publish.wait(60)

        ingested(source, lake, after=pause)

    other = threading.Thread(target=other_run)

    def recover_before_the_other_decides(*arguments: Any) -> tuple[str, ...]:
        done = recover(*arguments)
        if not other.ident:
            other.start()
            is_decided.wait(60)
        return done

    def publish() -> None:
        may_publish.set()
        other.join(60)

    LakeTables(str(lake), LocalStorage()).create_missing()
    monkeypatch.setattr(run, "recover", recover_before_the_other_decides)
    summary = ingested(source, lake, engine=Meanwhile(publish))
    assert not other.is_alive()
    assert (summary.exit_code, summary.records) == (0, 0)
    assert records_taken(lake) == _everything()
    assert imbalances_of(lake) == []


def test_a_commit_of_another_run_before_the_versions_are_read_is_not_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of the other run happens then: a ledger that was read before would not know of it."""
    lake = tmp_path / "lake"
    source = make_log_dir(tmp_path / "data", {("orders", 0): [0, 20]})
    ingested(make_log_dir(tmp_path / "first", {("payments", 0): [0, 5]}), lake)
    other_run = once(lambda: ingested(source, lake))

    def versions_after_the_other(*arguments: Any) -> Any:
        other_run()
        return app_versions.versions(*arguments)

    monkeypatch.setattr(run_context, "versions", versions_after_the_other)
    summary = ingested(source, lake)
    assert (summary.exit_code, summary.records) == (0, 0)
    assert offsets_taken(lake) == list(range(20))
    assert imbalances_of(lake) == []


def _log(source: Path, base_offset: int) -> Path:
    return source / "orders-0" / f"{base_offset:020d}.log"


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _grown(path: Path) -> None:
    """As by a cleaner that puts two segments into one."""
    path.write_bytes(path.read_bytes() + path.read_bytes()[-100:])


def _replaced(path: Path) -> None:
    """Another log under the same name, of the same length."""
    content = bytearray(path.read_bytes())
    content[17] ^= 0xFF
    path.write_bytes(content)


_CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "goes": (lambda source: _log(source, 40).unlink(), "no such file"),
    "shrinks": (lambda source: _cut(_log(source, 40)), "were there before"),
    "grows": (lambda source: _grown(_log(source, 40)), "were there before"),
    "folder_goes": (lambda source: shutil.rmtree(source / "orders-0"), "no such file"),
    "is_another": (lambda source: _replaced(_log(source, 0)), "changed"),
    "is_another_in_the_middle": (lambda source: _replaced(_log(source, 40)), "changed"),
}


@pytest.mark.parametrize(
    ("change", "sections"),
    [
        *((change, {}) for change in _CHANGES),
        ("goes", WAVES),
        ("shrinks", WAVES),
        ("is_another_in_the_middle", {"read": {"decoded_bytes": 1}}),  # rows of it are written
    ],
)
def test_a_partition_that_changes_after_the_plan_is_left_out_and_taken_later(
    change: str, sections: Sections, source: Path, tmp_path: Path
) -> None:
    happens, reason = _CHANGES[change]
    whole, lake = tmp_path / "whole", tmp_path / "lake"
    shutil.copytree(source, whole)
    changes = once(lambda: happens(source))
    summary = ingested(source, lake, engine=Meanwhile(changes), **sections)
    assert summary.exit_code == 3
    assert list(summary.left_out) == ["orders-0"]
    assert reason in summary.left_out["orders-0"]
    assert str(source / "orders-0") in summary.left_out["orders-0"]
    others = [made for made in _everything() if made[:2] != ("orders", 0)]
    assert [made for made in records_taken(lake) if made[:2] != ("orders", 0)] == others
    assert imbalances_of(lake) == []

    shutil.rmtree(source)
    shutil.copytree(whole, source)
    again = ingested(source, lake, **sections)
    assert again.exit_code == 0
    assert records_taken(lake) == _everything()
    assert imbalances_of(lake) == []


def test_no_piece_of_a_partition_is_taken_where_another_cannot_be_read(
    source: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    engine = Meanwhile(once(_log(source, 40).unlink))
    summary = ingested_in_pieces(
        source, lake, "read_uncommitted", split_bytes=1, wave_bytes=1 << 30, engine=engine
    )
    assert (summary.exit_code, list(summary.left_out)) == (3, ["orders-0"])
    others = [made for made in _everything() if made[:2] != ("orders", 0)]
    assert records_taken(lake) == others
    assert imbalances_of(lake) == []


def test_a_log_that_grows_after_the_plan_is_taken_as_far_as_planned(
    source: Path, tmp_path: Path
) -> None:
    edges = {**_EDGES, ("orders", 0): [0, 40, 80, 150]}
    grown = make_log_dir(tmp_path / "grown", edges, value_bytes=_VALUE_BYTES)
    lake = tmp_path / "lake"

    def grow() -> None:
        shutil.copytree(grown, source, dirs_exist_ok=True)

    summary = ingested(source, lake, engine=Meanwhile(grow))
    assert summary.exit_code == 0
    assert records_taken(lake) == _everything()
    second = ingested(source, lake)
    assert second.records == 30
    ranges = {key: range(stops[-1]) for key, stops in edges.items()}
    assert records_taken(lake) == made_records(ranges, value_bytes=_VALUE_BYTES)
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
    source = make_log_dir(tmp_path / "data", _EDGES, value_bytes=value_bytes)
    lake = tmp_path / "lake"
    with _full_disk(largest_file_bytes), pytest.raises(SeglakeError, match="File too large"):
        ingested(source, lake)
    assert records_taken(lake) == []
    assert set(versions(lake).values()) <= {0}
    assert ingested(source, lake).exit_code == 0
    assert records_taken(lake) == _everything(value_bytes)
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("step", _STEPS[:-1])
def test_a_disk_that_fills_up_during_a_commit_leaves_what_the_next_run_completes(
    step: str, source: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(done: str) -> None:
        if done == step:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))

    try:
        if step == "checkpoints":
            ingested(source, lake, after=fill)  # all is published, and nothing more is written
        else:
            with pytest.raises(SeglakeError, match="safe to run again"):
                ingested(source, lake, after=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ingested(source, lake).exit_code == 0
    assert records_taken(lake) == _everything()
    assert imbalances_of(lake) == []
