"""Files that prove offsets which are not on the disk: indexes, snapshots, an empty last segment."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.task_engine.engine import Engine
from support import broker_disks
from support.lakes import ingested
from support.made_logs import make_log_dir
from support.taken import gaps_taken, offsets_taken

_MARKS = ("replication-offset-checkpoint", "recovery-point-offset-checkpoint")
_KRAFT = "__cluster_metadata-0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A partition with segments of [0, 10) and [10, 20), whose broker's checkpoints are lost."""
    log_dir = make_log_dir(tmp_path / "d", {("orders", 0): [0, 10, 20]})
    for name in _MARKS:
        (log_dir / name).unlink()
    return log_dir / "orders-0"


def _empty(name: str) -> Callable[[Path], None]:
    def put(folder: Path) -> None:
        (folder / name).write_bytes(b"")

    return put


def _lose(*names: str) -> Callable[[Path], None]:
    def lose(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return lose


def _lose_all_but_an_index(folder: Path) -> None:
    _lose(f"{10:020}.log", f"{10:020}.timeindex")(folder)
    entry = (5).to_bytes(4, "big") + (190).to_bytes(
        4, "big"
    )  # offset 15, after 10, at position 190
    (folder / f"{10:020}.index").write_bytes(entry + bytes(80))


@pytest.mark.parametrize(
    ("change", "proof", "lost"),
    [
        (_empty(f"{50:020}.log"), f"{50:020}.log", (20, 50)),
        (_empty(f"{50:020}.index"), f"{50:020}.index", (20, 50)),
        (_empty(f"{50:020}.timeindex"), f"{50:020}.timeindex", (20, 50)),
        (_empty(f"{50:020}.txnindex"), f"{50:020}.txnindex", (20, 50)),
        (_empty(f"{50:020}.snapshot"), f"{50:020}.snapshot", (20, 50)),
        (_lose(f"{10:020}.log"), f"{10:020}.timeindex", (10, 20)),
        (_lose_all_but_an_index, f"{10:020}.index", (10, 16)),
        (_empty(f"{10:020}.log"), f"{10:020}.timeindex", (10, 20)),
    ],
)
def test_offsets_that_a_file_proves_are_named_as_not_on_disk_in_each_run(
    change: Callable[[Path], None],
    proof: str,
    lost: tuple[int, int],
    folder: Path,
    lake: Path,
    engine: Engine,
) -> None:
    change(folder)
    for _ in range(2):
        summary = ingested(folder.parent, lake, engine=engine)
        (short,) = summary.findings.of(FindingKind.NOT_ON_DISK)
        assert (summary.exit_code, short.ranges, short.facts["stated_by"]) == (3, (lost,), proof)
    assert offsets_taken(lake) == [*range(lost[0])]


def _garbage_in_an_index(folder: Path) -> None:
    _lose_all_but_an_index(folder)
    (folder / f"{10:020}.index").write_bytes(bytes.fromhex("7fffffe000000fff") + bytes(80))


@pytest.mark.parametrize(
    ("change", "garbage"),
    [
        (_empty(f"{2**31:020}.snapshot"), f"{2**31:020}.snapshot"),
        (_empty(f"{2**40:020}.log"), f"{2**40:020}.log"),
        (_garbage_in_an_index, f"{10:020}.index"),
    ],
)
def test_garbage_beside_a_log_is_named_and_proves_no_billions_of_offsets(
    change: Callable[[Path], None],
    garbage: str,
    folder: Path,
    lake: Path,
    engine: Engine,
) -> None:
    change(folder)
    for _ in range(2):
        summary = ingested(folder.parent, lake, engine=engine)
        assert (summary.exit_code, [*summary.left_out]) == (3, [str(folder / garbage)])
        assert summary.findings.of(FindingKind.NOT_ON_DISK) == []


def test_an_empty_segment_where_the_log_ends_proves_nothing(folder: Path, lake: Path) -> None:
    for kind in ("log", "index", "timeindex"):
        (folder / f"{20:020}.{kind}").touch()
    assert ingested(folder.parent, lake).exit_code == 0


def test_offsets_that_the_cleaner_removed_below_an_empty_segment_are_not_lost(
    folder: Path, lake: Path
) -> None:
    (folder / f"{50:020}.log").touch()
    (folder.parent / "cleaner-offset-checkpoint").write_text("0\n1\norders 0 50\n")
    assert ingested(folder.parent, lake).exit_code == 0


@pytest.fixture
def controller(tmp_path: Path) -> Path:
    """The metadata log of a fresh controller: a snapshot of nothing, and an empty log."""
    log_dir = tmp_path / "controller"
    (folder := log_dir / _KRAFT).mkdir(parents=True)
    (log_dir / "meta.properties").write_text("version=1\ncluster.id=fresh\nnode.id=1\n")
    (folder / f"{0:020}-{0:010}.checkpoint").write_bytes(_snapshot(f"{0:020}-{0:010}.checkpoint"))
    for kind in ("log", "index", "timeindex"):
        (folder / f"{0:020}.{kind}").touch()
    return log_dir


def _snapshot(name: str) -> bytes:
    (disk, *_) = broker_disks.log_dirs("11_kraft", "stopped")
    return (disk.path / _KRAFT / name).read_bytes()


@pytest.mark.parametrize("has_log", [True, False])
def test_the_log_of_a_fresh_controller_is_neither_short_nor_has_holes(
    has_log: bool, controller: Path, lake: Path, engine: Engine
) -> None:
    if not has_log:
        for path in (controller / _KRAFT).glob(f"{0:020}.*"):
            path.unlink()
    select = {"internal_topics": True}
    for _ in range(2):
        summary = ingested(controller, lake, engine=engine, select=select)
        assert (summary.exit_code, summary.partitions, gaps_taken(lake)) == (0, 1, [])


def test_a_snapshot_of_the_metadata_log_proves_the_log_that_is_lost(
    controller: Path, lake: Path
) -> None:
    for path in (controller / _KRAFT).iterdir():
        path.unlink()
    name = f"{53:020}-{1:010}.checkpoint"
    (controller / _KRAFT / name).write_bytes(_snapshot(name))
    summary = ingested(controller, lake, select={"internal_topics": True})
    (short,) = summary.findings.of(FindingKind.NOT_ON_DISK)
    assert (summary.exit_code, short.ranges, short.facts["stated_by"]) == (3, ((0, 53),), name)
