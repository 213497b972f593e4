"""Runs on a real Spark cluster: the rows of one machine, whoever dies on the way."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seglake.environment.spark_start import _ANSWER_SECONDS
from support.cluster_runs import (
    ROOT,
    SAMPLE,
    Packed,
    all_rows,
    environment,
    ingest_command,
    run,
    running,
)
from support.lakes import ingested, versions
from support.servers.processes import Running
from support.servers.slow_files import slow_file
from support.servers.spark_cluster import SparkCluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

# Many small tasks, so that a run lasts while something happens to it.
SPLIT = ("--set", "read.split_bytes=65536", "--set", "read.window_bytes=65536")
WAVES = (*SPLIT, "--set", "write.wave_bytes=1048576")
RECORDS = 120_000
WRITE = f"""
import sys
from dataclasses import replace
from pathlib import Path
from bench.workloads import W1, written
print(written(replace(W1, record_count={RECORDS}, partition_count=2), Path(sys.argv[1])))
"""


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two partitions of some megabytes."""
    answer = subprocess.run(
        [sys.executable, "-c", WRITE, str(tmp_path_factory.mktemp("workload"))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Path(answer.stdout.strip())


@pytest.fixture(scope="module")
def rows_of_one_machine(
    log_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> "dict[str, list[str]]":
    lake = tmp_path_factory.mktemp("local") / "lake"
    ingested(log_dir, lake)
    return records_and_batches(lake)


def records_and_batches(lake: Path) -> "dict[str, list[str]]":
    """Of the other tables, only the ledger has rows here: one for each wave."""
    return {name: rows for name, rows in all_rows(lake).items() if name in {"records", "batches"}}


def lines_of_page() -> list[str]:
    """The commands of docs/cluster.md, each on one line."""
    page = (ROOT / "docs" / "cluster.md").read_text("utf-8")
    block = page.partition("```\n")[2].partition("```")[0].replace("\\\n", "")
    lines = [re.sub(r"\s+#.*", "", line).strip() for line in block.splitlines()]
    return [line for line in lines if line]


def test_the_page_s_lines_give_the_rows_of_one_machine(
    small_cluster: SparkCluster, packed: Packed, tmp_path: Path
) -> None:
    pack, *exports, by_command, by_submit = lines_of_page()
    assert pack == "make pack"
    ingested(SAMPLE, tmp_path / "local", isolation="read_committed")
    for name, line in (("command", by_command), ("submit", by_submit)):
        first = small_cluster.application_count()
        line = line.replace("spark://host:7077", small_cluster.master_url)
        line = line.replace("build/seglake-env.tar.gz", str(packed.archive))
        line = line.replace("/shared/kafka", str(SAMPLE))
        line = line.replace("/shared/lake", str(tmp_path / name))
        line = re.sub("^seglake ", f"{sys.executable} -m seglake ", line)
        own = environment("no-such-python")  # the exported one must win
        answer = subprocess.run(
            ["bash", "-ec", "\n".join([*exports, line])],
            cwd=ROOT,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 3, answer.stderr  # two batches are damaged
        assert "2070 records in 229 batches" in answer.stdout
        assert all_rows(tmp_path / name) == all_rows(tmp_path / "local")
        assert small_cluster.application_count() == first + 1
        executors = small_cluster.executor_logs(first)
        assert executors
        assert all("Unpacking an archive" in text for text in executors)


def test_worker_that_dies_costs_no_row_and_doubles_none(
    cluster: SparkCluster,
    packed: Packed,
    log_dir: Path,
    rows_of_one_machine: "dict[str, list[str]]",
    tmp_path: Path,
) -> None:
    command = ingest_command(log_dir, tmp_path / "lake", cluster.master_url, *SPLIT, "-vv")
    application = cluster.application_count()
    with running(command, packed.python, tmp_path / "run.log") as driver:
        driver.wait_for_text("Finished task 9.0 in stage 1.0", seconds=200)
        busy = re.findall(
            r"Starting task \d\.0 in stage 1\.0 .*,executor (\d+),", driver.log.read_text()
        )
        cluster.worker_of(application, busy[-1]).kill()
        wait_for_end(driver)
    said = driver.log.read_text()
    assert f"{RECORDS} records in" in said
    assert re.search(r"Lost executor \d+ on 127\.0\.0\.1: .*worker lost", said)
    lost = re.search(r"task (\d+)\.0 in stage 1\.0 .* failed because .* its executor exited", said)
    assert lost is not None
    assert f"Finished task {lost[1]}.1 in stage 1.0" in said
    assert records_and_batches(tmp_path / "lake") == rows_of_one_machine


def test_run_after_a_driver_that_died_brings_the_rest_once(
    cluster: SparkCluster,
    packed: Packed,
    log_dir: Path,
    rows_of_one_machine: "dict[str, list[str]]",
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    command = ingest_command(log_dir, lake, cluster.master_url, *WAVES)
    with running(command, packed.python, tmp_path / "run.log") as driver:
        end = time.monotonic() + 200
        while versions(lake).get("checkpoints", 0) < 2:
            assert driver.is_running, driver.log.read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        os.kill(driver.pid, signal.SIGKILL)  # Python alone: its JVM must find out by itself
        committed = len(records_and_batches(lake)["records"])
        assert 0 < committed < RECORDS
        answer = run(command, packed.python)
    assert answer.returncode == 0, answer.stderr
    assert f"{RECORDS - committed} records in" in answer.stdout
    assert records_and_batches(lake) == rows_of_one_machine


@pytest.mark.slow
def test_archive_that_takes_longer_than_a_master_may_is_waited_for(
    cluster: SparkCluster, packed: Packed, tmp_path: Path
) -> None:
    ingested(SAMPLE, tmp_path / "local")
    with slow_file(packed.archive, first_seconds=1.5 * _ANSWER_SECONDS) as url:
        shipped = f"--set=spark.properties.spark.archives={url}#environment"
        command = ingest_command(SAMPLE, tmp_path / "lake", cluster.master_url, shipped)
        answer = run(command, "./environment/bin/python", seconds=600)
    assert answer.returncode == 3, answer.stderr  # two batches are damaged
    assert all_rows(tmp_path / "lake") == all_rows(tmp_path / "local")


def wait_for_end(driver: Running) -> None:
    end = time.monotonic() + 300
    while driver.is_running:
        assert time.monotonic() < end
        time.sleep(0.1)
