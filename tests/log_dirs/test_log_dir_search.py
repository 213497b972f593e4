"""Log dirs are known by what lies in them, wherever a source begins."""

from pathlib import Path

import pytest

from seglake.log_dirs.log_dir_search import MOST_LEVELS, FoundLogDir, LogDirSearch
from seglake.log_dirs.unread_files import UnreadFiles, UnreadKind
from seglake.storage.errors import StorageError
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import FileInfo


class _Closed(LocalStorage):
    """Folders of some names cannot be listed."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def list_folder(self, path: str) -> list[FileInfo]:
        if Path(path).name in self._names:
            raise StorageError(action="list", path=path, reason="Permission denied")
        return super().list_folder(path)


def _put(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()
    return folder


def _segments(folder: Path) -> Path:
    return _put(folder, f"{0:020}.log", f"{0:020}.index")


def _found(
    path: Path, storage: LocalStorage | None = None
) -> tuple[list[FoundLogDir], dict[str, StorageError]]:
    search = LogDirSearch(storage=storage or LocalStorage())
    return search.log_dirs_at(str(path)), search.closed


def _paths(path: Path) -> list[str]:
    found, _ = _found(path)
    return [log_dir.path for log_dir in found]


def test_a_partition_folder_stands_for_its_log_dir_with_that_partition_alone(data: Path) -> None:
    _segments(data / "orders-0")
    _segments(data / "orders-1")
    (log_dir,), _ = _found(data / "orders-0")
    assert (log_dir.path, list(log_dir.partition_folders)) == (str(data), ["orders-0"])
    (log_dir,), _ = _found(data)
    assert list(log_dir.partition_folders) == ["orders-0", "orders-1"]


def test_a_folder_with_the_name_of_a_partition_and_log_dirs_in_it_is_none(data: Path) -> None:
    _segments(data / "broker-0" / "orders-0")
    _put(data / "broker-1", "meta.properties")
    assert _paths(data) == [str(data / "broker-0"), str(data / "broker-1")]


def test_an_empty_partition_folder_counts_beside_the_files_of_a_broker_only(data: Path) -> None:
    (data / "orders-0").mkdir(parents=True)
    assert _paths(data) == []
    _put(data, "replication-offset-checkpoint")
    (log_dir,), _ = _found(data)
    assert log_dir.partition_folders == {"orders-0": ()}


def test_the_search_ends_below_a_log_dir_and_at_a_depth(data: Path) -> None:
    _segments(data / "orders-0")
    _segments(data / "backup" / "orders-0")
    assert _paths(data) == [str(data)]
    levels = [f"level{number}" for number in range(MOST_LEVELS)]
    deep = data / "deep" / "/".join(levels)
    _segments(deep / "orders-0")
    assert _paths(data / "deep") == [str(deep)]
    assert _paths(data.parent) == [str(data)]
    _segments(data.parent / "up" / "more" / "/".join(levels) / "orders-0")
    assert _paths(data.parent / "up") == []


def test_what_cannot_be_listed_is_lost_in_a_log_dir_and_closed_above_one(data: Path) -> None:
    _segments(data / "disk" / "orders-0")
    for name in ("orders-1", "cache", "lost+found"):
        (data / "disk" / name).mkdir()
        (data / name).mkdir()
    found, closed = _found(data, _Closed("orders-1", "cache", "lost+found"))
    assert [list(log_dir.unreadable) for log_dir in found] == [["orders-1"]]
    lost = [data / "cache", data / "disk" / "cache", data / "orders-1"]
    assert sorted(closed) == [str(path) for path in lost]


def test_a_source_that_cannot_be_listed_is_an_error(data: Path) -> None:
    data.mkdir()
    with pytest.raises(StorageError, match="Permission denied"):
        _found(data, _Closed(data.name))


def test_a_log_dir_inside_of_another_is_named(data: Path) -> None:
    _segments(data / "orders-0")
    _segments(data / "broker-2" / "orders-1")
    _put(data / "broker-3", "meta.properties")
    _put(data / "notes", "readme")
    search = LogDirSearch(storage=LocalStorage())
    search.log_dirs_at(str(data))
    place = str(data)
    assert search.unread == [
        UnreadFiles(place, place, UnreadKind.LOG_DIR, 1, 0, name)
        for name in ("broker-2", "broker-3")
    ]
