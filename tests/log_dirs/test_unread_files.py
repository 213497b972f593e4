"""What lies in a folder beside what is read."""

from pathlib import Path

import pytest

from seglake.log_dirs.unread_files import (
    UnreadFiles,
    UnreadKind,
    compressed_segments,
    unread_files,
)
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import FileInfo
from support.broker_disks import unpacked


def _folder(folder: Path, *names: str) -> dict[str, FileInfo]:
    """A folder with files of these names, of one byte each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"x")
    return {entry.name: entry for entry in LocalStorage().list_folder(str(folder))}


def test_archives_are_named_by_the_partition_that_they_are_called_after(tmp_path: Path) -> None:
    found = unread_files(
        str(tmp_path),
        _folder(tmp_path, "orders-0.tar.gz", "orders-0.tar", "b.zip", "a.tgz", "x.log").values(),
    )
    archive = UnreadKind.ARCHIVE
    assert found == [
        UnreadFiles(str(tmp_path), str(tmp_path), archive, 2, 2, "a.tgz"),
        UnreadFiles("orders-0", str(tmp_path), archive, 2, 2, "orders-0.tar"),
    ]
    folder = tmp_path / "orders-1"
    (packed,) = unread_files(str(folder), _folder(folder, "segments.tar").values())
    assert packed.place == "orders-1"


def test_objects_of_kafka_s_own_tier_are_counted_by_partition() -> None:
    tier = unpacked("12_tiered") / "tier"
    (folder,) = tier.glob("ti-0-*")
    listing = LocalStorage().list_folder(str(folder))
    (found,) = unread_files(str(folder), listing)
    assert (found.place, found.kind, found.files) == ("ti-0", UnreadKind.TIER_OBJECT, len(listing))
    assert found.size_bytes == sum(path.stat().st_size for path in folder.iterdir())


def test_a_compressed_segment_counts_once_and_not_beside_its_log(tmp_path: Path) -> None:
    names = (f"{0:020}.log.gz", f"{0:020}.log.zst", f"{5:020}.log.gz", f"{5:020}.log")
    (found,) = compressed_segments(_folder(tmp_path, *names))
    assert (found.base_offset, found.size_bytes) == (0, 1)


@pytest.mark.parametrize(
    ("folder", "name", "kind", "reason"),
    [
        ("t-0", f"{0:020}.tierstate", UnreadKind.CONFLUENT_STATE, "its layout is not public"),
        (f"t-0-{'a' * 22}", "b" * 22, UnreadKind.HDFS_SEGMENT, "is not read"),
        ("0_18", "0-1-v1.log", UnreadKind.REDPANDA_SEGMENT, "another format than Kafka's"),
        ("0_18", "0-9-4096-1-v1.log.1", UnreadKind.REDPANDA_SEGMENT, "another format"),
    ],
)
def test_files_of_other_systems_are_named_with_a_sentence(
    folder: str, name: str, kind: UnreadKind, reason: str, tmp_path: Path
) -> None:
    place = tmp_path / folder
    (found,) = unread_files(str(place), _folder(place, name, "x").values())
    assert (found.kind, found.example) == (kind, name)
    assert reason in found.reason


def test_files_with_an_id_elsewhere_are_no_segments_on_hdfs(tmp_path: Path) -> None:
    assert unread_files(str(tmp_path), _folder(tmp_path, "b" * 22).values()) == []
