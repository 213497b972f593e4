"""The oldest Spark on S3 and HDFS: the same rows, and SQL where its Hadoop has what it needs."""

import shutil
from pathlib import Path

import pytest

from seglake.errors import ExitCode
from seglake.storage.hadoop_properties import HadoopProperties
from support.hdfs_runs import DISK, fetched, put
from support.other_versions import RELEASES, seglake, with_spark
from support.remote_runs import all_content, ingested_at
from support.servers.hdfs_cluster import hdfs_cluster
from support.servers.s3_server import versitygw
from versions.conftest import Ran

pytestmark = [pytest.mark.versions, pytest.mark.slow, pytest.mark.timeout(1800)]

_COUNT = ["--csv", "--engine", "spark", "SELECT count(*) AS n FROM records"]
_COMMAND = "seglake ingest, audit --engine spark"


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The rows where everything is on the local disk."""
    lake = tmp_path_factory.mktemp("local") / "lake"
    ingested_at(str(DISK), str(lake), HadoopProperties())
    return all_content(lake)


def test_s3_has_the_same_rows(expected: dict[str, list[str]], tmp_path: Path, ran: Ran) -> None:
    python = with_spark(RELEASES[0])
    with versitygw(tmp_path / "s3") as server:
        bucket = server.make_bucket("lakes")
        shutil.copytree(DISK, bucket / "disk")
        place, variables = ["--lake", "s3a://lakes/lake"], server.environment()
        for command, code in (("ingest", ExitCode.LOOK), ("audit", ExitCode.DONE)):
            called = [command, "--source", "s3a://lakes/disk", *place, "--engine", "spark"]
            done = seglake(python, *called, variables=variables)
            assert done.returncode == code, done.stderr
        assert all_content(bucket / "lake") == expected
        asked = seglake(python, "sql", *place, *_COUNT, variables=variables)
        assert asked.returncode == ExitCode.FAILED
        assert "seglake knows the JARs for S3 of Hadoop" in asked.stderr
    ran.add(python, "source and lake on S3: same tables, proved", _COMMAND)
    ran.add(python, "SQL of a lake on S3", "seglake sql --engine spark", works=False)


def test_hdfs_has_the_same_rows(expected: dict[str, list[str]], tmp_path: Path, ran: Ran) -> None:
    python = with_spark(RELEASES[0])
    with hdfs_cluster(tmp_path / "hdfs") as cluster:
        put(DISK, cluster, "/disk")
        place = ["--lake", f"{cluster.uri}/lake"]
        for command, code in (("ingest", ExitCode.LOOK), ("audit", ExitCode.DONE)):
            called = [command, "--source", f"{cluster.uri}/disk", *place, "--engine", "spark"]
            done = seglake(python, *called)
            assert done.returncode == code, done.stderr
        assert all_content(fetched(cluster, "/lake", tmp_path / "lake")) == expected
        asked = seglake(python, "sql", *place, *_COUNT)
        assert (asked.returncode, asked.stdout) == (ExitCode.DONE, "n\n2070\n"), asked.stderr
    ran.add(python, "source and lake on HDFS: same tables, proved", _COMMAND)
    ran.add(python, "SQL of a lake on HDFS", "seglake sql --engine spark")
