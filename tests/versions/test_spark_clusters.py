"""A standalone cluster of a release, whose workers have seglake already, ingests and proves."""

from pathlib import Path

import pytest

from seglake.errors import ExitCode
from support.cluster_runs import CLUSTER_CONF, SAMPLE, all_rows, packed
from support.lakes import ingested
from support.other_versions import RELEASES, ROOT, seglake, spark_package, with_python, with_spark
from support.servers.processes import LOOPBACK
from support.servers.spark_cluster import spark_cluster
from versions.conftest import Ran

pytestmark = [pytest.mark.versions, pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("release", RELEASES)
def test_a_cluster_ingests_and_audits(release: str, tmp_path: Path, ran: Ran) -> None:
    python = with_spark(release)
    variables = {"PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": LOOPBACK}
    ours = f"spark.properties.spark.executorEnv.PYTHONPATH={ROOT / 'libs'}"
    lake, local = tmp_path / "lake", tmp_path / "local"
    with spark_cluster(tmp_path / "cluster", worker_count=1, home=spark_package(python)) as cluster:
        options = ["--master", cluster.master_url, "--config", str(CLUSTER_CONF), "--set", ours]
        called = ["--source", str(SAMPLE), "--lake", str(lake), *options]
        done = seglake(python, "ingest", *called, variables=variables)
        assert done.returncode == ExitCode.LOOK, done.stderr
        proved = seglake(python, "audit", *called, variables=variables)
        assert proved.returncode == ExitCode.DONE, proved.stderr
        assert cluster.application_count() == 2
    ingested(SAMPLE, local, isolation="read_committed")
    assert all_rows(lake) == all_rows(local)
    command = "seglake ingest, audit --master spark://…"
    ran.add(python, "a standalone cluster: same tables, proved", command)


def test_a_packed_environment_of_another_python_ingests_proves_and_replays(
    tmp_path: Path, ran: Ran
) -> None:
    python = with_python("3.12", "3.5")
    archive = packed(tmp_path / "packed", workers_python=python).archive
    variables = {"PYSPARK_PYTHON": "./environment/bin/python", "SPARK_LOCAL_IP": LOOPBACK}
    shipped = f"spark.properties.spark.archives={archive}#environment"
    lake, local = tmp_path / "lake", tmp_path / "local"
    with spark_cluster(tmp_path / "cluster", worker_count=1, home=spark_package(python)) as cluster:
        options = ["--master", cluster.master_url, "--config", str(CLUSTER_CONF), "--set", shipped]
        called = ["--source", str(SAMPLE), "--lake", str(lake), *options]
        done = seglake(python, "ingest", *called, variables=variables)
        assert done.returncode == ExitCode.LOOK, done.stderr
        made = all_rows(lake)
        for command in ("audit", "replay"):
            done = seglake(python, command, *called, variables=variables)
            assert done.returncode == ExitCode.DONE, (command, done.stderr)
        logs = [text for run in range(3) for text in cluster.executor_logs(run)]
        assert logs
        assert all("Unpacking an archive" in text for text in logs)
    ingested(SAMPLE, local, isolation="read_committed")
    assert made == all_rows(lake) == all_rows(local)
    what = "a standalone cluster by a packed environment: same tables, proved"
    ran.add(python, what, "make pack PACK_PYTHON=…/python3.12 && seglake ingest, audit, replay")
