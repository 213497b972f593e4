"""What a Spark cluster refuses, or cannot run, ends in one paragraph that says what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.cluster_runs import SAMPLE, ingest_command, run
from support.servers.spark_cluster import SPARK_HOME, SparkCluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

BARE_PYTHON = Path(sys._base_executable)  # type: ignore[attr-defined]  # what made our environment: without packages


def only_line(answer: "subprocess.CompletedProcess[str]") -> str:
    """What a person reads; before it stand Spark's own warnings, and progress if it takes long."""
    assert (answer.returncode, answer.stdout) == (1, ""), answer.stderr
    said = [line for line in answer.stderr.splitlines() if line.startswith("seglake: ")]
    lines = [line for line in said if not line.startswith("seglake: decoding: ")]
    assert len(lines) == 1
    assert "\tat " not in answer.stderr
    assert "Traceback" not in answer.stderr
    return lines[0]


def test_workers_without_our_packages_are_named_with_what_to_do(
    small_cluster: SparkCluster, tmp_path: Path
) -> None:
    command = ingest_command(SAMPLE, tmp_path / "lake", small_cluster.master_url)
    said = only_line(run(command, BARE_PYTHON))
    assert "No module named 'seglake'. The Python of the workers has no seglake" in said
    assert "make pack" in said


@pytest.mark.slow
def test_workers_without_the_python_that_is_named_end_the_run(
    small_cluster: SparkCluster, tmp_path: Path
) -> None:
    named = "--set=spark.properties.spark.pyspark.python=./elsewhere/bin/python"
    command = ingest_command(SAMPLE, tmp_path / "lake", small_cluster.master_url, named)
    said = only_line(run(command, BARE_PYTHON))
    assert 'Cannot run program "./elsewhere/bin/python"' in said
    assert "PYSPARK_PYTHON must name a Python that every worker has" in said


def test_standalone_master_takes_no_python_driver(
    small_cluster: SparkCluster, tmp_path: Path
) -> None:
    submit = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", small_cluster.master_url]
    job = ["jobs/ingest_segments.py", "--source", str(SAMPLE), "--lake", str(tmp_path / "lake")]
    answer = run([*submit, "--deploy-mode", "cluster", *job], BARE_PYTHON)
    assert answer.returncode != 0
    assert (
        "Cluster deploy mode is currently not supported for python applications on standalone"
        in answer.stdout + answer.stderr
    )
    assert not (tmp_path / "lake").exists()


@pytest.mark.slow
def test_port_that_is_no_master_s_is_given_up(small_cluster: SparkCluster, tmp_path: Path) -> None:
    url = f"spark://127.0.0.1:{small_cluster.page_port}"
    said = only_line(run(ingest_command(SAMPLE, tmp_path / "lake", url), BARE_PYTHON))
    assert said.startswith(
        f"seglake: Spark's master {url} did not accept the application within 30 s."
    )
