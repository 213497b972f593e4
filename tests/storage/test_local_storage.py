import errno
import os
import pickle
import sys
from pathlib import Path

import pytest

from seglake.storage.errors import (
    FileShrankError,
    NotFoundError,
    RefusedError,
    StorageError,
    UnsupportedUriError,
)
from seglake.storage.local_storage import LocalStorage

STORAGE = LocalStorage()


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("/data/kafka", "/data/kafka"),
        ("/data//kafka/", "/data/kafka"),
        ("/data/../kafka", "/kafka"),
        ("file:/data/kafka", "/data/kafka"),
        ("file:///data/kafka/", "/data/kafka"),
        ("FILE:///data", "/data"),
        ("file://localhost/data", "/data"),
        ("/data/50%25 and ü", "/data/50%25 and ü"),
        ("/", "/"),
        ("//data", "/data"),
    ],
)
def test_local_uris_become_absolute_paths(uri: str, path: str) -> None:
    assert STORAGE.locate(uri) == path


def test_relative_path_is_taken_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert STORAGE.locate("a/b") == str(tmp_path / "a/b")


@pytest.mark.parametrize(
    "uri", ["s3://bucket/x", "hdfs://host/x", "file://host/x", "file:x", "", "a\0b", "http://x"]
)
def test_other_schemes_are_refused_with_those_that_work(uri: str) -> None:
    with pytest.raises(UnsupportedUriError, match="plain path or file:/path") as caught:
        STORAGE.locate(uri)
    assert repr(uri) in str(caught.value)


def test_listing_shows_hidden_names_empty_files_and_folders_in_order(tmp_path: Path) -> None:
    (tmp_path / "__consumer_offsets-3").mkdir()
    for name in ("_schemas", ".hidden", "b", "a"):
        (tmp_path / name).write_bytes(b"x" if name == "a" else b"")
    found = STORAGE.list_folder(str(tmp_path))
    assert [(entry.name, entry.is_folder) for entry in found] == [
        (".hidden", False),
        ("__consumer_offsets-3", True),
        ("_schemas", False),
        ("a", False),
        ("b", False),
    ]
    assert found[3].size_bytes == 1
    assert found[3].path == str(tmp_path / "a")
    assert found[3].modified_at_ms == (tmp_path / "a").stat().st_mtime_ns // 1_000_000


def test_files_after_a_name_are_listed_without_folders(tmp_path: Path) -> None:
    for name in ("02.json", "01.json", "03.json", "02.checkpoint"):
        (tmp_path / name).write_bytes(b"{}")
    (tmp_path / "04").mkdir()
    (tmp_path / "04" / "05.json").touch()
    listed = STORAGE.list_after(str(tmp_path), "02.checkpoint")
    assert [(entry.name, entry.size_bytes) for entry in listed] == [("02.json", 2), ("03.json", 2)]
    assert len(STORAGE.list_after(str(tmp_path), "")) == 4
    assert STORAGE.list_after(str(tmp_path), "05") == []
    assert STORAGE.list_after(str(tmp_path / "nowhere"), "") == []


def test_listing_says_what_is_wrong_with_an_entry_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "dangling").symlink_to("/gone")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "through").symlink_to("dangling/file")
    found = STORAGE.list_folder(str(tmp_path))
    assert [(entry.name, entry.is_folder, entry.problem) for entry in found] == [
        ("circle", False, f"it is a link to {tmp_path}/circle: Too many levels of symbolic links"),
        ("dangling", False, "it is a link to /gone, which does not exist"),
        ("pipe", False, "it is neither a file nor a folder"),
        ("through", False, "it is a link to dangling/file, which does not exist"),
    ]
    problems = [STORAGE.link_problem(entry.path) for entry in found]
    assert problems == ["" if entry.name == "pipe" else entry.problem for entry in found]
    assert STORAGE.list_after(str(tmp_path), "") == []
    with pytest.raises(StorageError, match="it is neither a file nor a folder"):
        STORAGE.open_reader(str(tmp_path / "pipe"))


def test_missing_things_are_named(tmp_path: Path) -> None:
    path = str(tmp_path / "missing")
    for call in (STORAGE.list_folder, STORAGE.open_reader, STORAGE.read_bytes):
        with pytest.raises(NotFoundError, match="missing: no such file") as caught:
            call(path)
        assert caught.value.path == path
    assert STORAGE.info(path) is None


def test_listing_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="Not a directory"):
        STORAGE.list_folder(str(tmp_path / "file"))


@pytest.mark.parametrize(
    ("number", "is_refusal"),
    [(errno.EACCES, True), (errno.EROFS, True), (errno.ENOSPC, False), (errno.EIO, False)],
)
def test_a_no_of_the_system_is_told_from_a_failure(
    number: int, *, is_refusal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: str) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "scandir", fail)
    with pytest.raises(StorageError, match=f"cannot list /x: {os.strerror(number)}") as caught:
        STORAGE.list_folder("/x")
    assert isinstance(caught.value, RefusedError) is is_refusal
    for of_delta_rs in (
        f"Kernel error: No (os error {number})",
        f"Os {{ code: {number}, kind: x }}",
    ):
        failure = STORAGE.failure("open", "/x", of_delta_rs)
        assert type(failure) is type(caught.value)
        assert str(failure) == f"cannot open /x: {os.strerror(number)}"
    assert type(STORAGE.failure("open", "/x", "something else")) is StorageError


def test_opening_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="it is a folder"):
        STORAGE.open_reader(str(tmp_path))


def test_info_tells_files_from_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    file, folder = STORAGE.info(str(tmp_path / "file")), STORAGE.info(str(tmp_path))
    assert file is not None
    assert (file.name, file.size_bytes, file.is_folder) == ("file", 5, False)
    assert folder is not None
    assert folder.is_folder


def test_reader_returns_exact_ranges_and_short_only_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(range(10)))
    with STORAGE.open_reader(str(tmp_path / "file")) as reader:
        assert reader.size_bytes == 10
        assert reader.read(2, 3) == bytes([2, 3, 4])
        assert reader.read(8, 100) == bytes([8, 9])
        assert reader.read(10, 1) == b""
        assert reader.read(50, 1) == b""
        assert reader.read(0, 0) == b""


def test_reader_does_not_see_bytes_appended_after_it_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    with STORAGE.open_reader(str(path)) as reader:
        with path.open("ab") as file:
            file.write(b"def")
        assert (reader.size_bytes, reader.read(0, 100)) == (3, b"abc")


def test_reader_says_when_the_file_became_shorter(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abcdef")
    with STORAGE.open_reader(str(path)) as reader:
        os.truncate(path, 2)
        assert reader.read(0, 2) == b"ab"
        with pytest.raises(FileShrankError, match=r"it had 6 bytes .* ends at 2$"):
            reader.read(0, 6)


def test_reader_closes_its_descriptor(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    with STORAGE.open_reader(str(tmp_path / "file")) as reader:
        pass
    with pytest.raises(StorageError, match="Bad file descriptor"):
        reader.read(0, 1)


def test_written_bytes_replace_the_old_content_and_leave_nothing_else(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "folder" / "file.json")
    STORAGE.write_bytes(path, b"old")
    STORAGE.write_bytes(path, b"new")
    assert STORAGE.read_bytes(path) == b"new"
    assert [entry.name for entry in STORAGE.list_folder(str(Path(path).parent))] == ["file.json"]


def test_failed_write_keeps_the_old_content_and_leaves_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(StorageError, match="No space left on device") as caught:
        STORAGE.write_bytes(str(path), b"new")
    assert caught.value.path == str(path)
    assert [(entry.name, entry.size_bytes) for entry in STORAGE.list_folder(str(tmp_path))] == [
        ("file", 3)
    ]


def test_output_never_overwrites(tmp_path: Path) -> None:
    path = str(tmp_path / "folder" / "file")
    with STORAGE.open_output(path) as output:
        output.write(b"abc")
    with pytest.raises(StorageError, match="File exists"):
        STORAGE.open_output(path)
    assert STORAGE.read_bytes(path) == b"abc"


def test_deleting_is_repeatable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    STORAGE.delete(str(tmp_path / "file"))
    STORAGE.delete(str(tmp_path / "file"))
    assert STORAGE.list_folder(str(tmp_path)) == []


def test_sync_reaches_each_file_its_folder_and_the_folder_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table" / "topic=a" / "file"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"abc")
    synced: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.add(os.fstat(descriptor).st_ino))
    STORAGE.sync([str(path)])
    expected = (path, path.parent, path.parent.parent)
    assert synced == {path.stat().st_ino for path in expected}


def test_sync_of_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        STORAGE.sync([str(tmp_path / "missing")])


def test_made_folders_are_synced_and_making_is_repeatable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.add(os.fstat(descriptor).st_ino))
    STORAGE.make_folder(str(tmp_path / "a" / "b"))
    assert synced == {tmp_path.stat().st_ino, (tmp_path / "a").stat().st_ino}
    STORAGE.make_folder(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()


def test_storage_goes_to_tasks(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    copy = pickle.loads(pickle.dumps(STORAGE))
    assert copy.read_bytes(copy.join(str(tmp_path), "file")) == b"abc"


@pytest.mark.skipif(sys.platform != "linux", reason="only there the advice begins to write")
def test_a_file_begins_to_be_written_to_the_disk_once_when_it_has_all_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def advise(descriptor: int, start: int, length: int, advice: int) -> None:
        seen.append((os.fstat(descriptor).st_size, start, length, advice))
        raise OSError(errno.EINVAL, "advice is not taken here")

    monkeypatch.setattr(os, "posix_fadvise", advise)
    path = str(tmp_path / "new" / "file")
    with LocalStorage().open_output(path) as output:
        output.write(b"x" * 5000)
        output.close()
        output.close()
    assert seen == [(5000, 0, 0, os.POSIX_FADV_DONTNEED)]
    assert Path(path).read_bytes() == b"x" * 5000
