"""A second real server, with a format of its own on the disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.s3_storage import S3Storage
from support.remote_runs import all_content, ingested_at
from support.servers import s3_server
from support.servers.s3_server import S3Server
from support.taken import is_nothing_new

pytestmark = [pytest.mark.s3, pytest.mark.slow, pytest.mark.timeout(1800)]  # built on first use

_DISK = Path(__file__).parents[2] / "samples" / "broker-0"


@pytest.fixture(scope="module")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server.minio(tmp_path_factory.mktemp("minio")) as server:
        server.make_bucket("bucket")
        yield server


def test_a_key_below_another_is_there_although_this_server_does_not_list_it(
    minio: S3Server,
) -> None:
    storage = S3Storage(minio.properties())
    for key in ("d/x", "d/x/y", "d/x-z"):
        storage.write_bytes(f"s3://bucket/{key}", key.encode())
    assert [each.name for each in storage.list_folder("s3://bucket/d")] == ["x", "x-z"]
    assert storage.read_bytes("s3://bucket/d/x/y") == b"d/x/y"
    info = storage.info("s3://bucket/d/x")
    assert info is not None
    assert not info.is_folder


def test_the_tables_are_the_same(minio: S3Server, tmp_path: Path) -> None:
    storage = S3Storage(minio.properties())
    for file in _DISK.rglob("*"):
        if file.is_file():
            path = f"s3://bucket/disk/{file.relative_to(_DISK).as_posix()}"
            storage.write_bytes(path, file.read_bytes())
    ingested_at(str(_DISK), str(tmp_path / "local"), HadoopProperties())
    ingested_at("s3://bucket/disk", "s3://bucket/lake", minio.properties())
    assert is_nothing_new(ingested_at("s3://bucket/disk", "s3://bucket/lake", minio.properties()))
    _download(storage, "s3://bucket/lake", tmp_path / "lake")
    assert all_content(tmp_path / "lake") == all_content(tmp_path / "local")


def _download(storage: S3Storage, path: str, folder: Path) -> None:
    folder.mkdir()
    for entry in storage.list_folder(path):
        if entry.is_folder:
            _download(storage, entry.path, folder / entry.name)
        else:
            (folder / entry.name).write_bytes(storage.read_bytes(entry.path))


def test_it_creates_exclusively(minio: S3Server) -> None:
    assert S3Storage(minio.properties()).creates_exclusively("s3://bucket/probes")
