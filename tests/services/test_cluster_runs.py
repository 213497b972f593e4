"""Runs on a real Spark cluster: the rows of one machine, whoever dies on the way.

The driver of a run dies, and the next run ingests the rest, while one of its workers dies.
"""

import re
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import pytest

from seglake.environment.spark_start import _ANSWER_SECONDS
from support.cluster_runs import (
    ROOT,
    SAMPLE,
    Packed,
    all_rows,
    ingest_command,
    run,
    running,
)
from support.lakes import ingested, versions
from support.made_logs import make_log_dir
from support.quick_spark import quick_environment
from support.servers.processes import Running
from support.servers.slow_files import slow_file
from support.servers.spark_cluster import SparkCluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

# Many small tasks, so that a run lasts while something happens to it; how long, bytes decide.
SPLIT = " --set read.split_bytes=65536 --set read.window_bytes=65536"
WAVES = f"{SPLIT} --set write.wave_bytes=524288"
EDGES = {("orders", 0): (0, 2500), ("orders", 1): (0, 2500)}
VALUE_BYTES = 1000
RECORDS = 2070 + 5000
CLUSTER_ID = "c2VnbGFrZS1zYW1wbGUtMQ"  # the sample's
TABLES = ("records", "batches", "quarantine", "gaps")  # the others say which run read what


class Runs(NamedTuple):
    """Two runs into a lake.

    Attributes:
        committed: records of the run whose driver died.
        code: exit code of the second run.
        said: what the second run printed.
        executors: the output of each run's executors.
    """

    lake: Path
    committed: int
    code: int
    said: str
    executors: list[list[str]]


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A broker's: small logs of every form, and two partitions of some megabytes."""
    folder = tmp_path_factory.mktemp("disk")
    made = make_log_dir(folder, EDGES, value_bytes=VALUE_BYTES, cluster_id=CLUSTER_ID)
    return [SAMPLE, made]


@pytest.fixture(scope="module")
def runs(
    _started_cluster: SparkCluster,
    packed: Packed,
    disks: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Runs:
    """The page's lines: the driver of the one dies, and then a worker of the other."""
    cluster, folder = _started_cluster, tmp_path_factory.mktemp("runs")
    cluster.add_workers(1 - len(cluster.running_workers()))
    first, lake = cluster.application_count(), folder / "lake"
    quick = quick_environment(tmp_path_factory.mktemp("spark-conf"))
    pack, *exports, by_command, by_submit = lines_of_page()
    assert pack == "make pack"

    def started(line: str) -> AbstractContextManager[Running]:
        for shown, own in (
            ("spark://host:7077", cluster.master_url),
            ("build/seglake-env.tar.gz", str(packed.archive)),
            ("/shared/kafka", " --source ".join(map(str, disks))),
            ("/shared/lake", str(lake)),
        ):
            assert shown in line
            line = line.replace(shown, own)
        line = re.sub("^seglake ", f"{sys.executable} -m seglake ", line)
        command = ["bash", "-ec", "\n".join([*exports, f"exec {line}"])]
        log = folder / f"{cluster.application_count()}.log"
        # The Python that the page exports must win.
        return running(command, "no-such-python", log, quick)

    by_submit = by_submit.replace("--master", "--load-spark-defaults --master")
    with started(by_submit + WAVES) as driver:
        wait_for_commits(driver, lake)
        driver.kill()
    committed = len(all_rows(lake)["records"])
    cluster.add_workers(2 - len(cluster.running_workers()))
    with started(f"{by_command}{SPLIT} -vv") as driver:
        kill_a_worker(cluster, first + 1, driver)
        code = driver.code(seconds=300)
    assert cluster.application_count() == first + 2
    executors = [cluster.executor_logs(number) for number in (first, first + 1)]
    return Runs(lake, committed, code, driver.log.read_text(), executors)


def wait_for_commits(driver: Running, lake: Path) -> None:
    """Wait until a run has committed something, long before its end."""
    end = time.monotonic() + 200
    while versions(lake).get("checkpoints", 0) < 2:
        assert driver.is_running, driver.log.read_text()
        assert time.monotonic() < end
        time.sleep(0.05)


def kill_a_worker(cluster: SparkCluster, application: int, driver: Running) -> None:
    """Kill the worker that was given a task last, as soon as ten tasks are done."""
    driver.wait_for_text("Finished task 9.0 in stage 1.0", seconds=200)
    starting = r"Starting task \d+\.0 in stage 1\.0 .*,executor (\d+),"
    busy = re.findall(starting, driver.log.read_text())
    cluster.worker_of(application, busy[-1]).kill()


def lines_of_page() -> list[str]:
    """The commands of docs/cluster.md, each on one line."""
    page = (ROOT / "docs" / "cluster.md").read_text("utf-8")
    block = page.partition("```\n")[2].partition("```")[0].replace("\\\n", "")
    lines = [re.sub(r"\s+#.*", "", line).strip() for line in block.splitlines()]
    return [line for line in lines if line]


def test_the_page_s_lines_ship_what_the_workers_need(runs: Runs) -> None:
    for texts in runs.executors:
        assert texts
        assert all("Unpacking an archive" in text for text in texts)


def test_run_after_a_driver_that_died_brings_the_rest_once(runs: Runs) -> None:
    assert 0 < runs.committed < RECORDS
    assert runs.code == 3, runs.said  # two batches are damaged
    assert f"{RECORDS - runs.committed} records in" in runs.said


def test_worker_that_dies_costs_no_row_and_doubles_none(
    runs: Runs, disks: list[Path], tmp_path: Path
) -> None:
    assert re.search(r"Lost executor \d+ on 127\.0\.0\.1: .*worker lost", runs.said)
    lost = re.search(
        r"task (\d+)\.0 in stage 1\.0 .* failed because .* its executor exited", runs.said
    )
    assert lost is not None
    assert f"Finished task {lost[1]}.1 in stage 1.0" in runs.said
    ingested(disks, tmp_path / "lake", isolation="read_committed")
    rows, expected = all_rows(runs.lake), all_rows(tmp_path / "lake")
    for table in TABLES:
        assert rows[table] == expected[table], table


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
