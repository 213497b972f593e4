"""The tables are the same wherever the source and the lake are."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from seglake.storage.errors import LakeFolderError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.task_engine.engine import SparkEngine
from seglake.task_engine.errors import EngineError
from support.lakes import versions
from support.meanwhile import Meanwhile
from support.remote_runs import all_content, ingested_at
from support.servers import s3_server
from support.servers.s3_server import S3Server
from support.taken import is_nothing_new

pytestmark = [pytest.mark.s3, pytest.mark.timeout(1500)]  # the server may have to be built

_DISK = Path(__file__).parents[2] / "samples" / "broker-0"
_Content = dict[str, list[str]]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> _Content:
    """What comes of the disk where all is local."""
    lake = tmp_path_factory.mktemp("local") / "lake"
    ingested_at(str(_DISK), str(lake), HadoopProperties())
    return all_content(lake)


@pytest.fixture(scope="module")
def disks(s3: S3Server) -> str:
    """The broker's disk as it lies on S3."""
    shutil.copytree(_DISK, s3.make_bucket("disks") / "deep" / "broker-0")
    return "s3a://disks/deep/broker-0"


def test_source_and_lake_on_s3_give_the_same_rows_and_the_second_run_nothing(
    s3: S3Server, disks: str, bucket: str, expected: _Content
) -> None:
    lake = s3.folder / bucket / "lakes" / "one"
    first = ingested_at(disks, f"s3://{bucket}/lakes/one", s3.properties())
    assert first.exit_code == 3  # two batches are damaged
    assert all_content(lake) == expected
    assert first.lake == f"s3://{bucket}/lakes/one"
    before = versions(lake)
    assert is_nothing_new(ingested_at(disks, f"s3a://{bucket}/lakes/one/", s3.properties()))
    assert versions(lake) == before
    assert not list((lake / "records" / "_seglake").rglob("*.json"))
    assert not list((lake / "records" / "_seglake").rglob("probe-*"))


def test_a_lake_on_s3_takes_a_local_source(s3: S3Server, bucket: str, expected: _Content) -> None:
    ingested_at(str(_DISK), f"s3://{bucket}/lake", s3.properties())
    assert all_content(s3.folder / bucket / "lake") == expected


def test_a_local_lake_takes_a_source_on_s3(
    s3: S3Server, disks: str, tmp_path: Path, expected: _Content
) -> None:
    ingested_at(disks, str(tmp_path / "lake"), s3.properties())
    assert all_content(tmp_path / "lake") == expected


def test_a_store_that_dies_in_the_middle_ends_the_run_at_once(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(s3_server.versitygw(tmp_path / "s3"))
        shutil.copytree(_DISK, server.make_bucket("disks") / "broker-0")
        dies = Meanwhile(stack.close)
        with pytest.raises(EngineError, match="nothing listens"):  # not one partition after another
            ingested_at("s3://disks", str(tmp_path / "lake"), server.properties(), engine=dies)


def test_the_root_of_a_bucket_is_a_lake_and_a_folder_of_many_disks_a_source(
    s3: S3Server, bucket: str, expected: _Content
) -> None:
    s3.make_bucket("roots")
    shutil.copytree(_DISK, s3.folder / "roots" / "broker-0", dirs_exist_ok=True)
    ingested_at("s3://roots", f"s3://{bucket}", s3.properties())
    assert all_content(s3.folder / bucket) == expected


@pytest.mark.parametrize("name", ["a b+c=d", "ü", "it's [one]", "a:b&c"])
def test_odd_names_of_lakes_are_kept(
    s3: S3Server, bucket: str, name: str, expected: _Content
) -> None:
    ingested_at(str(_DISK), f"s3://{bucket}/{name}", s3.properties())
    assert [path.name for path in (s3.folder / bucket).glob("[!.]*")] == [name]
    assert all_content(s3.folder / bucket / name) == expected


@pytest.mark.parametrize("name", ["a#b", "a?b", "a%b"])
def test_names_that_would_lead_elsewhere_are_refused(s3: S3Server, bucket: str, name: str) -> None:
    with pytest.raises(LakeFolderError, match="its name has a"):
        ingested_at(str(_DISK), f"s3://{bucket}/{name}", s3.properties())
    assert not list((s3.folder / bucket).iterdir())


@pytest.mark.spark
def test_tasks_on_spark_give_the_same_rows(
    s3: S3Server, disks: str, bucket: str, expected: _Content, spark_session: SparkSession
) -> None:
    engine = SparkEngine(spark_session.sparkContext)
    ingested_at(disks, f"s3://{bucket}/lake", s3.properties(), engine=engine)
    assert all_content(s3.folder / bucket / "lake") == expected


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server.versitygw(tmp_path_factory.mktemp("other"), "--region", "eu-south-9") as server:
        yield server


def test_two_buckets_have_each_its_own_endpoint_region_and_keys(
    s3: S3Server, other: S3Server, disks: str, expected: _Content
) -> None:
    other.make_bucket("lakes")
    properties = {
        **s3.hadoop(),
        **other.hadoop(bucket="lakes"),
        "fs.s3a.bucket.lakes.endpoint.region": "eu-south-9",
    }
    ingested_at(disks, "s3://lakes/lake", HadoopProperties(properties))
    assert all_content(other.folder / "lakes" / "lake") == expected


def test_a_session_token_of_the_environment_is_not_sent_with_other_keys(
    s3: S3Server, bucket: str, expected: _Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "others-secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "others-token")
    ingested_at(str(_DISK), f"s3://{bucket}/lake", s3.properties())
    assert all_content(s3.folder / bucket / "lake") == expected
