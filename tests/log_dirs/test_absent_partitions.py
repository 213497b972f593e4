"""Partitions that checkpoints know and of which no folder is there."""

import shutil
from pathlib import Path

import pytest

from seglake.log_dirs.discovery import discover
from seglake.storage.local_storage import LocalStorage
from support.encoder import DEFAULT_CLUSTER_ID, meta_properties
from support.lakes import ingested
from support.made_logs import make_log_dir

_EDGES = {("orders", 0): [0, 20], ("orders", 1): [5, 20], ("payments", 0): [0, 30]}


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "disk", _EDGES)


def _absent(*sources: Path, topic: str = "orders") -> list[tuple[str, int, int]]:
    found = discover(
        [str(source) for source in sources],
        LocalStorage(),
        selects_topic=lambda name: name == topic,
    )
    return [
        (f"{absent.partition.topic}-{absent.partition.partition}", *absent[2:4])
        for absent in found.absent
    ]


def test_a_partition_without_a_folder_is_named_with_what_was_replicated(disk: Path) -> None:
    assert _absent(disk) == []
    shutil.rmtree(disk / "orders-0")
    shutil.rmtree(disk / "payments-0")
    assert _absent(disk) == [("orders-0", 0, 20)]
    (disk / "log-start-offset-checkpoint").write_text("0\n1\norders 0 12\n")
    assert _absent(disk) == [("orders-0", 12, 20)]


@pytest.mark.parametrize("state", ["delete", "future", "stray"])
def test_a_folder_that_the_broker_has_renamed_is_no_loss(state: str, disk: Path) -> None:
    (disk / "orders-0").rename(disk / f"orders-0.{'a' * 32}-{state}")
    assert _absent(disk) == []


def test_a_folder_without_anything_of_a_partition_in_it_is_none(disk: Path) -> None:
    shutil.rmtree(disk / "orders-0")
    (disk / "orders-0").mkdir()
    (disk / "orders-0" / "segments.tar").write_bytes(b"x")
    assert _absent(disk) == [("orders-0", 0, 20)]


def test_high_watermarks_of_a_log_dir_that_its_broker_has_emptied_are_old(disk: Path) -> None:
    """Kafka writes them for log dirs with a partition only, and recovery points for all."""
    for folder in disk.glob("*-?"):
        shutil.rmtree(folder)
    marks = disk / "recovery-point-offset-checkpoint"
    marks.write_text("0\n1\norders 1 0\n")
    assert _absent(disk) == [("orders-1", 0, 20)]
    marks.write_text("0\n0\n")
    assert _absent(disk) == []
    marks.unlink()
    assert [name for name, *_ in _absent(disk)] == ["orders-0", "orders-1"]


def test_a_log_dir_counts_as_whole_in_whichever_order_it_is_given(disk: Path) -> None:
    shutil.rmtree(disk / "orders-0")
    for sources in ((disk / "orders-1", disk), (disk, disk / "orders-1"), (disk, disk)):
        assert _absent(*sources) == [("orders-0", 0, 20)]


def test_another_source_may_have_the_folder(disk: Path, tmp_path: Path) -> None:
    other = make_log_dir(tmp_path / "other", {("orders", 0): [0, 20]}, broker_id=1)
    shutil.rmtree(disk / "orders-0")
    assert _absent(disk, other) == []


def test_who_asks_for_one_folder_is_not_told_of_others(disk: Path) -> None:
    shutil.rmtree(disk / "orders-0")
    assert _absent(disk / "orders-1") == []


def test_a_folder_that_another_disk_makes_up_for_is_a_note(disk: Path, tmp_path: Path) -> None:
    other = shutil.copytree(disk, tmp_path / "other")
    (other / "meta.properties").write_text(meta_properties(1, DEFAULT_CLUSTER_ID))
    shutil.rmtree(disk / "orders-0")
    summary = ingested([disk, other], tmp_path / "lake")
    assert (summary.exit_code, summary.recovery.is_whole) == (0, True)
    said = f"{disk} has no folder of orders-0, which its checkpoints name: other log dirs have it"
    assert summary.notes.count(said) == 1
    assert ingested([other], tmp_path / "lake").notes == []


@pytest.mark.parametrize("suffix", ["-delete", "-stray", "-future"])
def test_a_folder_that_its_broker_deletes_or_moves_is_no_note(
    suffix: str, disk: Path, tmp_path: Path
) -> None:
    other = shutil.copytree(disk, tmp_path / "other")
    (other / "meta.properties").write_text(meta_properties(1, DEFAULT_CLUSTER_ID))
    (disk / "orders-0").rename(disk / f"orders-0.{'0' * 32}{suffix}")
    found = discover([str(disk), str(other)], LocalStorage())
    assert not any("has no folder of" in note for note in found.notes)
