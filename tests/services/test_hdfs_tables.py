"""The tables are the same wherever the source and the lake are, and each command works there."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from hdfs_native import Client
from pyspark.sql import SparkSession

from seglake.storage.hadoop_properties import HadoopProperties
from seglake.task_engine.engine import SparkEngine
from support.erasures import places_of
from support.hdfs_runs import (
    DISK,
    LOCAL,
    ROOT,
    conf_with_names,
    fetched,
    names_of,
    put,
    seglake,
)
from support.keyed_logs import Values, write
from support.lakes import versions
from support.latest_state import assert_current
from support.people import people_disk
from support.remote_runs import all_content, in_process, ingested_at
from support.servers.hdfs_cluster import HdfsCluster
from support.taken import is_nothing_new

pytestmark = [pytest.mark.hdfs, pytest.mark.timeout(900)]  # the JARs may have to be fetched

_NOTHING = HadoopProperties()
_Content = Mapping[str, list[str]]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> _Content:
    """What comes of the disk where all is local."""
    lake = tmp_path_factory.mktemp("local") / "lake"
    ingested_at(str(DISK), str(lake), _NOTHING)
    return all_content(lake)


@pytest.fixture(scope="module")
def disk(hdfs: HdfsCluster) -> str:
    """The broker's disk as it lies on HDFS."""
    put(DISK, hdfs, "/backup/kafka/broker-0")
    return f"{hdfs.uri}/backup/kafka/broker-0"


@pytest.fixture
def conf(hdfs: HdfsCluster, tmp_path: Path) -> dict[str, str]:
    """The environment of a command that knows the nameservice and the mount table."""
    return {"HADOOP_CONF_DIR": str(conf_with_names(hdfs, tmp_path / "conf"))}


def test_source_and_lake_on_hdfs_give_the_same_rows_and_the_second_run_nothing(
    hdfs: HdfsCluster, disk: str, hdfs_folder: str, expected: _Content, tmp_path: Path
) -> None:
    lake = f"{hdfs.uri}{hdfs_folder}/lake"
    assert ingested_at(disk, lake, _NOTHING).exit_code == 3  # two batches are damaged
    once = fetched(hdfs, f"{hdfs_folder}/lake", tmp_path / "once")
    assert all_content(once) == expected
    assert not list((once / "records" / "_seglake").rglob("*.*"))
    assert is_nothing_new(ingested_at(disk, f"{lake}/", _NOTHING))
    twice = fetched(hdfs, f"{hdfs_folder}/lake", tmp_path / "twice")
    assert versions(twice) == versions(once)


def test_a_lake_on_hdfs_takes_a_local_source(
    hdfs: HdfsCluster, hdfs_folder: str, expected: _Content, tmp_path: Path
) -> None:
    ingested_at(str(DISK), f"{hdfs.uri}{hdfs_folder}/lake", _NOTHING)
    assert all_content(fetched(hdfs, f"{hdfs_folder}/lake", tmp_path)) == expected


def test_no_file_or_folder_of_a_lake_has_a_permission_that_the_umask_keeps(
    hdfs: HdfsCluster, hdfs_folder: str
) -> None:
    lake, properties = f"{hdfs_folder}/lake", {"fs.permissions.umask-mode": "027"}
    ingested_at(str(DISK), f"{hdfs.uri}{lake}", HadoopProperties(properties))
    client = Client(hdfs.uri)
    found = [client.get_file_info(lake), *client.list_status(lake, recursive=True)]
    modes: dict[int, set[bool]] = {}
    for each in found:
        modes.setdefault(each.permission, set()).add("/_delta_log/" in each.path)
    # delta-rs writes the logs' files, which only those can reach who may open their folder.
    assert modes == {0o750: {False}, 0o640: {False}, 0o644: {True}}


def test_a_local_lake_takes_a_source_on_hdfs(disk: str, expected: _Content, tmp_path: Path) -> None:
    ingested_at(disk, str(tmp_path / "lake"), _NOTHING)
    assert all_content(tmp_path / "lake") == expected


@pytest.mark.spark
def test_tasks_on_spark_give_the_same_rows_without_a_configuration_of_their_own(
    hdfs: HdfsCluster,
    disk: str,
    hdfs_folder: str,
    expected: _Content,
    spark_session: SparkSession,
    tmp_path: Path,
) -> None:
    engine = SparkEngine(spark_session.sparkContext)
    lake = f"hdfs://prod{hdfs_folder}/lake"
    ingested_at(disk, lake, HadoopProperties(names_of(hdfs)), engine=engine)
    assert all_content(fetched(hdfs, f"{hdfs_folder}/lake", tmp_path)) == expected


def _lines_of_page(hdfs: HdfsCluster, conf: Mapping[str, str]) -> list[list[str]]:
    """The commands that docs/hdfs.md shows, with the places of this test."""
    page = (ROOT / "docs" / "hdfs.md").read_text("utf-8")
    block = page.split("```")[1].replace("namenode:8020", hdfs.authority)
    assert "export HADOOP_CONF_DIR=" in block
    commands = [line for line in block.splitlines() if line.startswith("seglake")]
    return [command.partition("#")[0].split()[1:] for command in commands]


def test_lines_of_the_page_work(
    hdfs: HdfsCluster, disk: str, conf: dict[str, str], expected: _Content, tmp_path: Path
) -> None:
    plain, *named = _lines_of_page(hdfs, conf)
    first = seglake({}, *plain, *LOCAL)
    assert (first.code, first.errors.count("seglake:")) == (3, 0)
    assert all_content(fetched(hdfs, "/data/lake", tmp_path / "lake")) == expected
    assert len(named) == 2
    for arguments in named:  # other names of the same places: nothing there is new
        ended = in_process(conf, (*arguments, *LOCAL))
        assert ended.code == 0, ended.errors
        assert ended.out.startswith("nothing ingested in 10 partitions")


def test_view_is_a_place_for_source_and_lake(
    hdfs: HdfsCluster, disk: str, conf: dict[str, str], expected: _Content, tmp_path: Path
) -> None:
    places = ("--source", "viewfs://view/disks/kafka", "--lake", "viewfs://view/lakes/viewed")
    ended = in_process(conf, ("ingest", *places, *LOCAL))
    assert ended.code == 3, ended.errors
    assert all_content(fetched(hdfs, "/data/viewed", tmp_path / "lake")) == expected


def test_audit_inspect_and_cat_read_hdfs(
    hdfs: HdfsCluster, disk: str, hdfs_folder: str, conf: dict[str, str]
) -> None:
    lake = f"{hdfs.uri}{hdfs_folder}/lake"
    ingested_at(disk, lake, _NOTHING)
    places = ("--lake", lake, "--source", "hdfs:///backup")
    audit = in_process(conf, ("audit", *places, "--json", *LOCAL))
    facts = json.loads(audit.out)
    assert (audit.code, facts["exit_code"]) == (0, 0)
    assert facts["disks"]
    there = in_process(conf, ("inspect", "hdfs:///backup/kafka/broker-0/v2-none-1", "--json"))
    here = in_process({}, ("inspect", str(DISK / "v2-none-1"), "--json"))
    assert there.code == 0
    assert there.out.replace("hdfs://prod/backup/kafka/broker-0", str(DISK)) == here.out
    printed = in_process(conf, ("cat", "--source", "hdfs:///backup/kafka/broker-0"))
    assert printed.out == in_process({}, ("cat", "--source", str(DISK))).out
    of_lake = in_process(conf, ("cat", "--lake", lake))
    assert sorted(of_lake.out.splitlines()) == sorted(printed.out.splitlines())


def test_replay_on_hdfs_fills_a_gap_from_another_copy(
    hdfs: HdfsCluster, disk: str, hdfs_folder: str, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(DISK, damaged)
    segment = damaged / "v2-zstd-0" / "00000000000000000000.log"
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    put(damaged, hdfs, f"{hdfs_folder}/damaged")
    lake = ("--lake", f"{hdfs.uri}{hdfs_folder}/lake")
    took = ingested_at(f"{hdfs.uri}{hdfs_folder}/damaged", lake[1], _NOTHING).records
    ended = in_process({}, ("replay", *lake, "--source", disk, "--json", *LOCAL))
    assert ended.code == 0, ended.errors
    brought = json.loads(ended.out)["repaired_records"]
    assert (took < 2070, took + brought) == (True, 2070)


def test_latest_on_hdfs_replaces_the_files_in_which_a_row_changes(
    hdfs: HdfsCluster, hdfs_folder: str, tmp_path: Path
) -> None:
    lake = f"{hdfs.uri}{hdfs_folder}/lake"
    log: list[Values] = [("a", b"1"), ("b", b"1")]
    for more in ((), (("a", b"2"), ("b", None), ("c", b"1"))):
        log += more
        assert ingested_at(str(write(tmp_path / "disk", *log)), lake, _NOTHING).exit_code == 0
        ended = in_process({}, ("latest", "--lake", lake, "--topics=orders"))
        assert ended.code == 0, ended.errors
    assert "3 new records, 1 keys new, 2 changed" in ended.out
    copy = fetched(hdfs, f"{hdfs_folder}/lake", tmp_path / "copy")
    assert len(assert_current(copy, "orders")) == 3


def test_erase_on_hdfs_leaves_no_byte_of_the_records(
    hdfs: HdfsCluster, hdfs_folder: str, tmp_path: Path
) -> None:
    put(people_disk(tmp_path / "disk", 20, topics=["orders"]), hdfs, f"{hdfs_folder}/disk")
    lake = ("--lake", f"{hdfs.uri}{hdfs_folder}/lake")
    source = f"{hdfs.uri}{hdfs_folder}/disk"
    assert ingested_at(source, lake[1], _NOTHING).records == 20
    call = ("erase", *lake, "--topics", "orders", "--key", "ann's key", "--purge")
    erased = in_process({}, (*call, *LOCAL, "--json"))
    assert (erased.code, json.loads(erased.out or "{}").get("records")) == (0, 7), erased.errors
    assert ingested_at(source, lake[1], _NOTHING).records == 0
    audited = in_process({}, ("audit", *lake, *LOCAL))
    assert audited.code == 0, audited.out
    copy = fetched(hdfs, f"{hdfs_folder}/lake", tmp_path / "copy")
    assert places_of(copy, b"secret of ann") == []
    assert places_of(copy, b"secret of bob") != []


@pytest.mark.spark
def test_sql_asks_a_lake_on_hdfs(
    hdfs: HdfsCluster, disk: str, hdfs_folder: str, conf: dict[str, str]
) -> None:
    ingested_at(disk, f"{hdfs.uri}{hdfs_folder}/lake", _NOTHING)
    query = "SELECT count(*) AS n, count(DISTINCT topic) AS topics FROM records"
    ended = seglake(conf, "sql", "--lake", f"hdfs://{hdfs_folder}/lake", query, "--json")
    assert ended.code == 0, ended.errors[-2000:]
    assert json.loads(ended.out) == {"n": 2070, "topics": 6}
