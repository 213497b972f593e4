"""S3 as a place for files: what the port of all storages promises, against a real server."""

import gc
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.fs
import pytest

from seglake.storage.errors import FileShrankError, NotFoundError, RefusedError, StorageError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.s3_storage import S3Storage
from seglake.storage.storages import Storages
from support.servers.s3_server import S3Server

pytestmark = [pytest.mark.s3, pytest.mark.timeout(1500)]  # the server may have to be built

_ODD_NAMES = ("a b+c%41=é", "_schemas", ".hidden", "e%2Fx", "~t#?*", "topic=orders", "a:b", "{x}")


@pytest.fixture
def storage(s3: S3Server) -> S3Storage:
    return S3Storage(s3.properties())


@pytest.fixture
def root(bucket: str) -> str:
    return f"s3://{bucket}"


def test_listing_shows_one_level_in_order_with_hidden_and_empty_files(
    storage: S3Storage, root: str
) -> None:
    storage.write_bytes(f"{root}/d/a", b"x")
    for name in ("d/_schemas", "d/.hidden", "d/__consumer_offsets-3/0.log", "elsewhere"):
        storage.write_bytes(f"{root}/{name}", b"")
    found = storage.list_folder(f"{root}/d")
    assert [
        (found_item.name, found_item.path, found_item.size_bytes, found_item.is_folder)
        for found_item in found
    ] == [
        (".hidden", f"{root}/d/.hidden", 0, False),
        ("__consumer_offsets-3", f"{root}/d/__consumer_offsets-3", 0, True),
        ("_schemas", f"{root}/d/_schemas", 0, False),
        ("a", f"{root}/d/a", 1, False),
    ]
    assert [each.name for each in storage.list_folder(root)] == ["d", "elsewhere"]


def test_times_are_those_of_the_objects(storage: S3Storage, s3: S3Server, bucket: str) -> None:
    file = s3.make_bucket(bucket) / "d" / "file"
    file.parent.mkdir()
    file.write_bytes(b"abc")
    os.utime(file, (1_600_000_000, 1_600_000_000))
    (listed,) = storage.list_folder(f"s3://{bucket}/d")
    assert listed.modified_at_ms == 1_600_000_000_000
    assert storage.info(listed.path) == listed


def test_a_listed_object_is_opened_without_a_request_and_is_still_the_same(
    storage: S3Storage, root: str, s3: S3Server
) -> None:
    path = f"{root}/d/object"
    storage.write_bytes(path, b"0123456789")
    before = s3.request_count()
    with storage.open_listed(path, 10) as reader:
        assert s3.request_count() == before
        assert (reader.size_bytes, reader.read(4, 3)) == (10, b"456")
        assert s3.request_count() == before + 1
        storage.write_bytes(path, b"abcdefghij")
        with pytest.raises(StorageError, match="it was replaced while it was read"):
            reader.read(0, 2)
    with storage.open_listed(path, 11) as reader, pytest.raises(FileShrankError):
        reader.read(0, 2)
    with storage.open_listed(path, 9) as reader, pytest.raises(StorageError, match="replaced"):
        reader.read(0, 2)
    with storage.open_listed(f"{path}s", 9) as reader, pytest.raises(NotFoundError):
        reader.read(0, 2)


def test_listing_goes_over_pages(storage: S3Storage, s3: S3Server, bucket: str) -> None:
    folder = s3.make_bucket(bucket) / "many"
    folder.mkdir()
    names = [f"{number:06d}.log" for number in range(2345)]
    for name in names:
        (folder / name).touch()
    for number in range(1100):
        (folder / f"t-{number:04d}").mkdir()
        (folder / f"t-{number:04d}" / "x").touch()
    found = storage.list_folder(f"s3://{bucket}/many")
    assert [found_item.name for found_item in found if not found_item.is_folder] == names
    assert sum(found_item.is_folder for found_item in found) == 1100
    after = storage.list_after(f"s3://{bucket}/many", names[99])
    assert after == [item for item in found if not item.is_folder][100:]
    assert storage.list_after(f"s3://{bucket}/many", "") == [i for i in found if not i.is_folder]
    assert storage.list_after(f"s3://{bucket}/man", "") == []


def test_odd_names_are_listed_read_and_deleted(storage: S3Storage, root: str) -> None:
    for name in _ODD_NAMES:
        storage.write_bytes(storage.join(root, "odd", name), name.encode())
    listed = storage.list_folder(f"{root}/odd")
    assert sorted(_ODD_NAMES) == [item.name for item in listed]
    for item in listed:
        assert storage.read_bytes(item.path) == item.name.encode()
        with storage.open_reader(item.path) as reader:
            assert reader.read(0, 100) == item.name.encode()
        storage.delete(item.path)
    with pytest.raises(NotFoundError):
        storage.list_folder(f"{root}/odd")


def test_a_marker_of_a_folder_is_a_folder_and_no_file(
    storage: S3Storage, s3: S3Server, bucket: str
) -> None:
    client = pyarrow.fs.S3FileSystem(
        access_key=s3.access_key,
        secret_key=s3.secret_key,
        endpoint_override=s3.endpoint,
        region="us-east-1",
    )
    client.create_dir(f"{bucket}/outer/inner", recursive=True)
    assert [each.name for each in storage.list_folder(f"s3://{bucket}/outer")] == ["inner"]
    assert storage.list_folder(f"s3://{bucket}/outer/inner") == []
    info = storage.info(f"s3://{bucket}/outer/inner")
    assert info is not None
    assert info.is_folder


def test_info_tells_files_from_folders(storage: S3Storage, root: str) -> None:
    storage.write_bytes(f"{root}/folder/file", b"12345")
    file, folder = storage.info(f"{root}/folder/file"), storage.info(f"{root}/folder")
    assert file is not None
    assert (file.name, file.size_bytes, file.is_folder) == ("file", 5, False)
    assert folder is not None
    assert (folder.name, folder.is_folder) == ("folder", True)
    assert storage.info(f"{root}/fold") is None
    assert storage.info(root) is not None


def test_missing_things_are_named(storage: S3Storage, root: str) -> None:
    path = f"{root}/missing"
    for call in (storage.list_folder, storage.open_reader, storage.read_bytes):
        with pytest.raises(NotFoundError, match="missing: no such file") as caught:
            call(path)
        assert caught.value.path == path
    assert storage.info(path) is None


def test_listing_a_file_is_refused(storage: S3Storage, root: str) -> None:
    storage.write_bytes(f"{root}/file", b"abc")
    with pytest.raises(StorageError, match="it is a file"):
        storage.list_folder(f"{root}/file")


def test_reader_returns_exact_ranges_and_short_only_at_the_end(
    storage: S3Storage, root: str
) -> None:
    storage.write_bytes(f"{root}/file", bytes(range(10)))
    with storage.open_reader(f"{root}/file") as reader:
        assert reader.size_bytes == 10
        assert reader.read(2, 3) == bytes([2, 3, 4])
        assert reader.read(8, 100) == bytes([8, 9])
        assert reader.read(10, 1) == b""
        assert reader.read(50, 1) == b""
        assert reader.read(0, 0) == b""
    storage.write_bytes(f"{root}/empty", b"")
    with storage.open_reader(f"{root}/empty") as reader:
        assert (reader.size_bytes, reader.read(0, 10)) == (0, b"")


def test_a_reader_serves_threads(storage: S3Storage, root: str) -> None:
    content = os.urandom(1 << 20)
    storage.write_bytes(f"{root}/file", content)
    with storage.open_reader(f"{root}/file") as reader, ThreadPoolExecutor(8) as pool:
        places = range(0, len(content), 4096)
        pieces = list(pool.map(lambda place: reader.read(place, 4096), places))
    assert b"".join(pieces) == content


def test_reader_says_when_the_object_became_shorter(storage: S3Storage, root: str) -> None:
    storage.write_bytes(f"{root}/file", b"abcdef")
    with storage.open_reader(f"{root}/file") as reader:
        storage.write_bytes(f"{root}/file", b"ab")
        with pytest.raises(FileShrankError, match=r"it had 6 bytes .* ends at 2$"):
            reader.read(0, 6)


def test_reader_never_mixes_two_objects(storage: S3Storage, root: str) -> None:
    storage.write_bytes(f"{root}/file", b"abcdef")
    with storage.open_reader(f"{root}/file") as reader:
        assert reader.read(0, 3) == b"abc"
        storage.write_bytes(f"{root}/file", b"ABCDEF" * 2)
        with pytest.raises(StorageError, match="it was replaced while it was read"):
            reader.read(3, 3)


@pytest.mark.parametrize("left", [b"ab", b""])
def test_a_store_that_cannot_tell_objects_apart_still_tells_a_shorter_one(
    storage: S3Storage, s3: S3Server, bucket: str, left: bytes
) -> None:
    file = s3.make_bucket(bucket) / "file"
    file.write_bytes(b"abcdef")  # put beside the server: it knows no tag of it
    with storage.open_reader(f"s3://{bucket}/file") as reader:
        file.write_bytes(left)
        with pytest.raises(FileShrankError):
            reader.read(1, 5)


def test_written_bytes_replace_the_old_content(storage: S3Storage, root: str) -> None:
    path = f"{root}/new/folder/file.json"
    storage.write_bytes(path, b"old")
    storage.write_bytes(path, b"new")
    assert storage.read_bytes(path) == b"new"
    assert [each.name for each in storage.list_folder(f"{root}/new/folder")] == ["file.json"]


@pytest.mark.parametrize("size_bytes", [0, 10, (8 << 20) - 1, (20 << 20) + 1])
def test_an_output_is_put_when_it_is_closed(storage: S3Storage, root: str, size_bytes: int) -> None:
    path, content = f"{root}/out/{size_bytes}", os.urandom(size_bytes)
    output = storage.open_output(path)
    for start in range(0, size_bytes, 3_000_000):
        output.write(content[start : start + 3_000_000])
    assert output.tell() == size_bytes
    assert storage.info(path) is None
    output.close()
    output.close()
    assert output.closed
    assert storage.read_bytes(path) == content


@pytest.mark.parametrize("size_bytes", [10, 20 << 20])
def test_an_output_that_is_not_closed_leaves_nothing(
    storage: S3Storage, root: str, size_bytes: int
) -> None:
    path = f"{root}/out"
    given_up = storage.open_output(path)
    given_up.write(b"x" * size_bytes)
    storage.discard(given_up, path)
    forgotten = storage.open_output(path)
    forgotten.write(b"x" * size_bytes)
    del forgotten
    gc.collect()
    with pytest.raises(ValueError, match="stop"):
        _write_and_fail(storage, path, size_bytes)
    assert storage.info(path) is None


def _write_and_fail(storage: S3Storage, path: str, size_bytes: int) -> None:
    with storage.open_output(path) as output:
        output.write(b"x" * size_bytes)
        raise ValueError("stop")


def test_deleting_is_repeatable(storage: S3Storage, root: str) -> None:
    storage.write_bytes(f"{root}/d/file", b"")
    storage.delete(f"{root}/d/file")
    storage.delete(f"{root}/d/file")
    assert storage.list_folder(root) == []


def test_a_folder_is_deleted_with_what_lies_below(storage: S3Storage, root: str) -> None:
    for name in ("d/a", "d/e/b", "d2/c"):
        storage.write_bytes(f"{root}/{name}", b"")
    storage.delete_folder(f"{root}/d")
    storage.delete_folder(f"{root}/d")
    assert [each.name for each in storage.list_folder(root)] == ["d2"]


def test_probe_that_cannot_be_taken_away_is_no_refusal_of_the_place(
    storage: S3Storage, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: S3Storage, path: str) -> None:
        raise RefusedError(action="delete", path=path, reason="it is not permitted")

    monkeypatch.setattr(S3Storage, "delete", refuse)
    with pytest.raises(StorageError, match=r"cannot delete .*/probe-") as caught:
        storage.creates_exclusively(f"{root}/probes")
    assert not isinstance(caught.value, RefusedError)
    assert [entry.path for entry in storage.list_folder(f"{root}/probes")] == [caught.value.path]


def test_a_server_that_honours_conditions_creates_exclusively(
    storage: S3Storage, root: str
) -> None:
    assert storage.creates_exclusively(f"{root}/probes")
    assert storage.list_folder(root) == []


def test_storage_goes_to_tasks_without_its_connections(storage: S3Storage, root: str) -> None:
    storage.write_bytes(f"{root}/file", b"abc")
    copy = pickle.loads(pickle.dumps(Storages(storage._properties)))
    assert copy.read_bytes(copy.join(root, "file")) == b"abc"
    assert copy.read_bytes(copy.locate(f"s3a://{root[5:]}/file")) == b"abc"


def test_one_process_has_one_client_for_a_bucket(
    storage: S3Storage, s3: S3Server, root: str
) -> None:
    storage.write_bytes(f"{root}/file", b"abc")
    before = threading.active_count()
    for _ in range(20):
        assert S3Storage(s3.properties()).read_bytes(f"{root}/file") == b"abc"
    assert threading.active_count() == before


def test_pieces_of_a_local_path_are_not_taken_for_a_bucket(tmp_path: Path) -> None:
    (tmp_path / "s3:").mkdir()
    assert Storages(HadoopProperties()).list_folder(str(tmp_path / "s3:")) == []
