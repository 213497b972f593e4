"""HDFS as a place for files: what the port of all storages promises, against a real name node."""

import contextlib
import gc
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hdfs_native import Client, WriteOptions

from seglake.storage.errors import (
    FileShrankError,
    LakeFolderError,
    NotFoundError,
    StorageError,
    UnsupportedUriError,
)
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.hdfs_storage import HdfsStorage
from seglake.storage.storage import Reader
from seglake.storage.storages import Storages
from support.hdfs_runs import names_of
from support.servers.hdfs_cluster import HdfsCluster

pytestmark = [pytest.mark.hdfs, pytest.mark.timeout(900)]  # the JARs may have to be fetched

_ODD_NAMES = ("a b+c%41=é", "_schemas", ".hidden", "e%2Fx", "~t#?*", "topic=orders", "{x}", "[1-")
_NAMES = HadoopProperties(
    {
        "fs.defaultFS": "hdfs://prod/",
        "dfs.ha.namenodes.prod": "a,b",
        "dfs.namenode.rpc-address.prod.a": "one:8020",
    }
)


@pytest.fixture
def storage() -> HdfsStorage:
    return HdfsStorage(HadoopProperties())


@pytest.fixture
def root(hdfs: HdfsCluster, hdfs_folder: str) -> str:
    return f"{hdfs.uri}{hdfs_folder}"


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("hdfs://h:9000/a", "hdfs://h:9000/a"),
        ("HDFS://h:9000//a///b/", "hdfs://h:9000/a/b"),
        ("hdfs://h:9000/x/../y/.", "hdfs://h:9000/y"),
        ("hdfs://h:9000", "hdfs://h:9000/"),
        ("hdfs://h:9000/", "hdfs://h:9000/"),
        ("hdfs://h/a", "hdfs://h:8020/a"),
        ("hdfs://prod/a", "hdfs://prod/a"),
        ("hdfs:///a/b/", "hdfs://prod/a/b"),
        ("hdfs:/a", "hdfs://prod/a"),
        ("viewfs://view/a", "viewfs://view/a"),
        ("hdfs://h:9000/50%25 and ü", "hdfs://h:9000/50%25 and ü"),
    ],
)
def test_uris_become_whole_paths(uri: str, path: str) -> None:
    assert HdfsStorage(_NAMES).locate(uri) == path


@pytest.mark.parametrize(
    "uri",
    ["hdfs:a", "hdfs://", "viewfs:///a", "hdfs://user@h:1/a", "hdfs://h:1/\0", "webhdfs://h/"],
)
def test_what_names_no_file_system_is_refused(uri: str) -> None:
    with pytest.raises(UnsupportedUriError, match="hdfs://host:port/path"):
        HdfsStorage(_NAMES).locate(uri)


def test_path_without_a_host_needs_a_default_file_system() -> None:
    with pytest.raises(UnsupportedUriError, match=r"fs\.defaultFS in HADOOP_CONF_DIR"):
        HdfsStorage(HadoopProperties({"fs.defaultFS": "s3a://bucket"})).locate("hdfs:///a")


def test_listing_shows_one_level_in_order_with_hidden_and_empty_files(
    storage: HdfsStorage, root: str
) -> None:
    before_ms = time.time_ns() // 1_000_000
    storage.write_bytes(f"{root}/a", b"x")
    for name in ("_schemas", ".hidden", "__consumer_offsets-3/0.log"):
        storage.open_output(f"{root}/{name}").close()
    found = storage.list_folder(root)
    assert [
        (found_item.name, found_item.path, found_item.size_bytes, found_item.is_folder)
        for found_item in found
    ] == [
        (".hidden", f"{root}/.hidden", 0, False),
        ("__consumer_offsets-3", f"{root}/__consumer_offsets-3", 0, True),
        ("_schemas", f"{root}/_schemas", 0, False),
        ("a", f"{root}/a", 1, False),
    ]
    assert before_ms - 1000 <= found[3].modified_at_ms <= time.time_ns() // 1_000_000 + 1000
    assert storage.info(f"{root}/a") == found[3]


def test_root_is_listed_with_paths_that_open(
    storage: HdfsStorage, hdfs: HdfsCluster, root: str
) -> None:
    storage.make_folder(root)
    paths = [each.path for each in storage.list_folder(storage.locate(hdfs.uri))]
    assert f"{hdfs.uri}/tests" in paths


def test_listing_goes_over_pages(storage: HdfsStorage, hdfs: HdfsCluster, hdfs_folder: str) -> None:
    client = Client(hdfs.uri)
    names = [f"{number:06d}.log" for number in range(1234)]  # the name node gives 1000 at a time

    def make(name: str) -> None:
        client.create(f"{hdfs_folder}/{name}", WriteOptions()).close()

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(make, names))
    assert [each.name for each in storage.list_folder(f"{hdfs.uri}{hdfs_folder}")] == names


def test_odd_names_are_listed_read_and_deleted(storage: HdfsStorage, root: str) -> None:
    def write(name: str) -> None:
        storage.write_bytes(storage.join(root, name), name.encode())

    with ThreadPoolExecutor(len(_ODD_NAMES)) as pool:
        list(pool.map(write, _ODD_NAMES))
    listed = storage.list_folder(root)
    assert [item.name for item in listed] == sorted(_ODD_NAMES)
    assert storage.list_after(root, listed[1].name) == listed[2:]
    assert storage.list_after(f"{root}/nowhere", "") == []
    for item in listed:
        assert storage.read_bytes(item.path) == item.name.encode()
        storage.delete(item.path)
    assert storage.list_folder(root) == []


def test_missing_things_are_named(storage: HdfsStorage, root: str) -> None:
    path = f"{root}/missing"
    for call in (storage.list_folder, storage.open_reader, storage.read_bytes):
        with pytest.raises(NotFoundError, match="missing: no such file") as caught:
            call(path)
        assert caught.value.path == path
    assert storage.info(path) is None


def test_files_are_no_folders_and_folders_no_files(storage: HdfsStorage, root: str) -> None:
    storage.open_output(f"{root}/file").close()
    with pytest.raises(StorageError, match="it is a file"):
        storage.list_folder(f"{root}/file")
    for call in (storage.open_reader, storage.read_bytes):
        with pytest.raises(StorageError, match="it is a folder"):
            call(root)
    with pytest.raises(StorageError, match="is not a directory"):
        storage.make_folder(f"{root}/file/below")
    assert storage.info(f"{root}/file/below") is None
    assert storage.info(root) in storage.list_folder(root.rpartition("/")[0])


def test_reader_returns_exact_ranges_over_blocks(
    storage: HdfsStorage, hdfs: HdfsCluster, hdfs_folder: str
) -> None:
    content = bytes(range(256)) * 8
    options = WriteOptions(block_size=1024)  # two of them: a third may come too soon after these
    with Client(hdfs.uri).create(f"{hdfs_folder}/blocks", options) as file:
        file.write(content)
    with storage.open_reader(f"{hdfs.uri}{hdfs_folder}/blocks") as reader:
        assert reader.size_bytes == 2048
        assert reader.read(0, 2048) == content
        assert reader.read(1000, 100) == content[1000:1100]
        assert reader.read(1024, 500) == content[1024:1524]
        assert reader.read(2000, 1000) == content[2000:]
        assert [reader.read(2048, 1), reader.read(9000, 1), reader.read(5, 0)] == [b"", b"", b""]


def test_threads_share_a_reader(storage: HdfsStorage, root: str) -> None:
    content = b"".join(number.to_bytes(4, "big") for number in range(100_000))
    storage.write_bytes(f"{root}/file", content)
    with storage.open_reader(f"{root}/file") as reader, ThreadPoolExecutor(8) as pool:
        starts = range(0, len(content), 9_973)
        assert b"".join(pool.map(lambda start: reader.read(start, 9_973), starts)) == content


def test_of_a_file_that_is_still_written_the_finished_blocks_are_read(
    storage: HdfsStorage, hdfs: HdfsCluster, hdfs_folder: str
) -> None:
    file = Client(hdfs.uri).create(f"{hdfs_folder}/growing", WriteOptions(block_size=1024))
    file.write(b"x" * 1500)
    file.hsync()
    with storage.open_reader(f"{hdfs.uri}{hdfs_folder}/growing") as reader:
        file.write(b"y" * 500)
        file.close()
        assert reader.size_bytes == 1024
        assert reader.read(0, 5000) == b"x" * 1024
    assert storage.read_bytes(f"{hdfs.uri}{hdfs_folder}/growing") == b"x" * 1500 + b"y" * 500


def test_reader_says_what_became_of_its_file(storage: HdfsStorage, root: str) -> None:
    storage.write_bytes(f"{root}/file", b"abcdef" * 50_000)
    with storage.open_reader(f"{root}/file") as reader:
        storage.write_bytes(f"{root}/file", b"ab")
        with pytest.raises(FileShrankError, match=r"it had 300000 bytes .* ends at 2$"):
            _read_until_refused(reader)
        storage.delete(f"{root}/file")
        with pytest.raises(NotFoundError):
            reader.read(0, 300_000)


def _read_until_refused(reader: Reader) -> None:
    """The data node forgets a block a while after its file has gone.

    The ends are read in turn: the reader keeps what it has read last.
    """
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert reader.read(0, 6) == reader.read(299_994, 6) == b"abcdef"
        time.sleep(0.2)


def test_written_bytes_replace_the_old_content_and_leave_nothing_else(
    storage: HdfsStorage, root: str
) -> None:
    path = f"{root}/new/folder/file.json"
    storage.write_bytes(path, b"old")
    storage.write_bytes(path, b"new")
    assert storage.read_bytes(path) == b"new"
    assert [entry.name for entry in storage.list_folder(f"{root}/new/folder")] == ["file.json"]


def test_who_reads_while_it_is_written_sees_the_old_or_the_new(
    storage: HdfsStorage, root: str
) -> None:
    contents = [bytes([number]) * 300_000 for number in range(4)]
    storage.write_bytes(f"{root}/file", contents[0])
    seen: set[bytes] = set()
    is_done = threading.Event()

    def look() -> None:
        while not is_done.is_set():
            try:
                seen.add(storage.read_bytes(f"{root}/file"))
            except StorageError:
                continue  # its blocks went while it was read: an error is no mix

    reader = threading.Thread(target=look)
    reader.start()
    for content in contents[1:]:
        storage.write_bytes(f"{root}/file", content)
    is_done.set()
    reader.join()
    assert seen <= set(contents)


def test_failed_write_keeps_the_old_content_and_leaves_nothing_else(
    storage: HdfsStorage, root: str
) -> None:
    storage.make_folder(f"{root}/file")  # what cannot be replaced by a file
    storage.write_bytes(f"{root}/file/below", b"old")
    with pytest.raises(StorageError) as caught:
        storage.write_bytes(f"{root}/file", b"new")
    assert caught.value.path == f"{root}/file"
    assert [entry.name for entry in storage.list_folder(root)] == ["file"]
    assert storage.read_bytes(f"{root}/file/below") == b"old"


def test_output_never_overwrites_and_knows_its_position(storage: HdfsStorage, root: str) -> None:
    path = f"{root}/folder/file"
    with storage.open_output(path) as output:
        assert output.write(b"abc") == 3
        assert output.write(memoryview(b"de")) == 2
        output.flush()
        assert output.tell() == 5
    with pytest.raises(StorageError, match="File exists"):
        storage.open_output(path)
    assert storage.read_bytes(path) == b"abcde"


def test_discarded_output_leaves_no_file(storage: HdfsStorage, root: str) -> None:
    output = storage.open_output(f"{root}/file")
    output.write(b"x" * 100_000)
    storage.discard(output, f"{root}/file")
    assert storage.list_folder(root) == []


def test_output_that_nobody_closed_is_never_a_whole_file(storage: HdfsStorage, root: str) -> None:
    output = storage.open_output(f"{root}/dropped")
    output.write(b"half")
    del output
    gc.collect()
    with contextlib.suppress(KeyError), storage.open_output(f"{root}/failed") as failing:
        failing.write(b"half")
        raise KeyError
    sizes = []
    for each in storage.list_folder(root):
        with storage.open_reader(each.path) as reader:  # which leaves out unfinished blocks
            sizes.append(reader.size_bytes)
    assert sizes == [0, 0]


def test_deleting_and_making_folders_are_repeatable(storage: HdfsStorage, root: str) -> None:
    for _ in range(2):
        storage.make_folder(f"{root}/a/b")
    storage.open_output(f"{root}/a/b/file").close()
    for _ in range(2):
        storage.delete(f"{root}/a/b/file")
    storage.open_output(f"{root}/a/b/file").close()
    for _ in range(2):
        storage.delete_folder(f"{root}/a")
    assert storage.list_folder(root) == []


def test_new_files_and_folders_get_no_permission_that_the_umask_keeps(
    hdfs: HdfsCluster, hdfs_folder: str
) -> None:
    for mask, file_mode, folder_mode in (("077", 0o600, 0o700), ("u=rwx", 0o644, 0o755)):
        storage = HdfsStorage(HadoopProperties({"fs.permissions.umask-mode": mask}))
        folder = f"{hdfs_folder}/{mask}"
        storage.make_folder(f"{hdfs.uri}{folder}")
        storage.open_output(f"{hdfs.uri}{folder}/file").close()
        client = Client(hdfs.uri)
        assert client.get_file_info(folder).permission == folder_mode
        assert client.get_file_info(f"{folder}/file").permission == file_mode


def test_tasks_need_no_configuration_of_their_machine(hdfs: HdfsCluster, hdfs_folder: str) -> None:
    storage = Storages(HadoopProperties(names_of(hdfs) | {"fs.defaultFS": "hdfs://prod"}))
    path = storage.locate(f"hdfs://{hdfs_folder}/file")
    assert path == f"hdfs://prod{hdfs_folder}/file"
    storage.write_bytes(path, b"abc")
    copy = pickle.loads(pickle.dumps(storage))
    assert copy.read_bytes(path) == b"abc"
    assert copy.read_bytes(f"{hdfs.uri}{hdfs_folder}/file") == b"abc"


@pytest.mark.parametrize("name", ["a b", "é", "a#b", "x?y"])
def test_lake_whose_name_would_be_written_otherwise_is_refused(
    storage: HdfsStorage, root: str, name: str
) -> None:
    with pytest.raises(LakeFolderError, match="letters, digits"):
        storage.delta_options(f"{root}/{name}")
    assert storage.delta_options(f"{root}/a-b_c.d~e=f") is not None
