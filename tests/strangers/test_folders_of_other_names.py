"""Segments in folders and under names that no broker gives: copies, backups, things renamed."""

import shutil
from pathlib import Path

import pytest

from seglake.log_dirs.errors import WrongSourceError
from seglake.task_engine.engine import Engine
from support.audits import checked
from support.found import unread_files
from support.lakes import ingested, replayed
from support.made_logs import make_log_dir
from support.printed import cat
from support.taken import offsets_taken

_ORDERS = ("orders", 0)
_OTHER_NAMES = [
    "orders-1.bak",
    "orders_2",
    "orders-5 (copy)",
    "orders-01",
    "orders",
    "orders-0.old",
    f"orders-0.{'a' * 32}-moved",
    f"orders-0.{'a' * 31}-delete",
    "orders-\u0661",
    "orders-2147483648",
    "órders-1",
]


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "disk" / "broker0", {_ORDERS: [0, 10, 20]})


def _copy(log_dir: Path, to: str) -> Path:
    """Copy a partition folder to a place in its log dir."""
    return Path(shutil.copytree(log_dir / "orders-0", log_dir / to))


def _named(log_dir: Path, lake: Path, engine: Engine | None = None) -> list[str]:
    """Ingest a disk that has the partition orders-0 and more, and return what is not read.

    What is named so is not noted as well.
    """
    summary = ingested(log_dir, lake, engine=engine)
    assert (summary.exit_code, offsets_taken(lake)) == (3, [*range(20)])
    noted = [note for note in summary.notes if "not Kafka's" in note]
    assert [note for note in noted if not note.endswith("server.log")] == []
    return [line for line in summary.to_text().splitlines() if line.startswith("not read:")]


@pytest.mark.parametrize("above", ["", "broker0"])
def test_a_folder_whose_name_is_no_partition_s_is_named(
    above: str, log_dir: Path, lake: Path, engine: Engine
) -> None:
    for name in _OTHER_NAMES:
        copy = _copy(log_dir, name)
        if not above:  # beside the log dir, below the source
            shutil.move(copy, log_dir.parent / name)
    lines = _named(log_dir.parent, lake, engine)
    assert all(
        line.endswith("rename the folder to TOPIC-PARTITION and give it as a source")
        for line in lines
    )
    named = {line.partition(": 2 segments in a folder that is not named like")[0] for line in lines}
    assert named == {f"not read: {log_dir.parent / above / name}" for name in _OTHER_NAMES}


def test_given_as_the_source_it_is_refused_with_what_to_do(log_dir: Path, lake: Path) -> None:
    folder = _copy(log_dir, "orders-1.bak")
    with pytest.raises(
        WrongSourceError, match="not named like a partition: rename it to TOPIC-PARTITION"
    ):
        ingested(folder, lake)
    renamed = folder.rename(folder.with_name("orders-1"))
    assert ingested(renamed, lake, read={"upper_bound": "log_end"}).records == 20


@pytest.mark.parametrize(
    ("place", "advice"),
    [
        ("orders-0/orders-0", "give the folder as a separate source"),
        ("orders-0/old", "rename the folder to TOPIC-PARTITION"),
        ("orders-0/a/b/c", "rename the folder to TOPIC-PARTITION"),
        ("backup/orders-0", "give it as a separate source"),
        ("backup/2024/monday/orders-0", "give it as a separate source"),
        ("backup/2024/orders-0.bak", "rename the folder to TOPIC-PARTITION"),
    ],
)
def test_copies_inside_of_a_log_dir_are_named_however_deep(
    place: str, advice: str, log_dir: Path, lake: Path
) -> None:
    _copy(log_dir, place)
    (line,) = _named(log_dir, lake)
    assert advice in line


def test_a_copy_inside_of_the_source_itself_is_named(log_dir: Path, lake: Path) -> None:
    _copy(log_dir, "orders-0/orders-0")
    (line,) = _named(log_dir / "orders-0", lake)
    assert line.endswith("give the folder as a separate source")


@pytest.mark.parametrize(
    "name",
    [
        f"{10:020}.log.bak",
        f"{10:020}.log.1",
        f"{10:020}.log~",
        f"{10:020} (copy).log",
        f"copy of {10:020}.log",
        f".{10:020}.log.Xa81bc",
        f"{10:020}.LOG",
        f"{10:020}.log.tmp",
        f"{2**63:020}.log",
        "10.log",
        f"{10:020}.kafka",
    ],
)
def test_a_segment_that_was_renamed_is_named(name: str, log_dir: Path, lake: Path) -> None:
    folder = log_dir / "orders-0"
    shutil.copy(folder / f"{10:020}.log", folder / name)
    (line,) = _named(log_dir, lake)
    assert "1 segment with a name that Kafka does not use (" in line
    assert name in line
    assert line.endswith("rename as Kafka does (20 digits and .log), or move away")


def test_segments_outside_of_a_partition_folder_are_named(log_dir: Path, lake: Path) -> None:
    shutil.copy(log_dir / "orders-0" / f"{10:020}.log", log_dir)
    (log_dir / "server.log").write_text("what the application says")
    (line,) = _named(log_dir, lake)
    assert "1 segment outside a partition folder" in line
    assert ingested(log_dir, lake).to_text().startswith("nothing ingested in 1 partition")


def test_a_folder_of_renamed_segments_alone_is_named(log_dir: Path, lake: Path) -> None:
    copy = _copy(log_dir, "orders-1")
    for path in [*copy.iterdir()]:
        if path.suffix == ".log":
            path.rename(f"{path}.bak")
        else:
            path.unlink()
    (line,) = _named(log_dir, lake)
    assert line.startswith("not read: orders-1: 2 segments with names that Kafka does not use")


def test_what_lies_deeper_than_the_search_goes_is_named(log_dir: Path, lake: Path) -> None:
    _copy(log_dir, "/".join("abcdefghijkl"))
    summary = ingested(log_dir, lake)
    assert summary.exit_code == 3
    assert "more than 8 folders below the source: give it as a source" in summary.to_text()
    assert summary.notes == []


def test_what_is_not_read_is_named_by_every_command_that_has_sources(
    log_dir: Path, lake: Path
) -> None:
    ingested(log_dir, lake)
    folder = _copy(log_dir, "orders-1.bak")
    assert [check.failures for check in checked(log_dir, lake) if check.has_problem]
    assert replayed(lake, log_dir).exit_code == 3
    printed = cat("--source", log_dir)
    assert (printed.code, str(folder) in printed.err, len(printed.lines)) == (3, True, 20)


def test_a_selection_of_topics_leaves_out_what_is_of_others(log_dir: Path, lake: Path) -> None:
    (log_dir / "payments-0.tar").touch()
    chosen = ingested(log_dir, lake, select={"topics": ["orders"]})
    assert (chosen.exit_code, unread_files(chosen)) == (0, [])
    assert ingested(log_dir, lake).exit_code == 3


def test_folders_without_a_segment_are_nobody_s_business(log_dir: Path, lake: Path) -> None:
    for name in ("remote-log-index-cache", "lost+found", "notes", "section-1"):
        (log_dir / name / "inner").mkdir(parents=True)
        (log_dir / name / "readme.txt").touch()
    assert ingested(log_dir, lake).exit_code == 0
