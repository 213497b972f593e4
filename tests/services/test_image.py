"""The image, built and run: read-only, without a network, as users known and unknown.

The first test waits for the build: some 5 minutes on two cores, most of it for pyspark.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seglake.lake.tables import TABLES
from support.lakes import content, ingested
from support.servers.image_build import ROOT, built_image
from support.servers.image_containers import Container, Image
from support.servers.processes import started
from support.servers.s3_server import S3Server, versitygw_program

pytestmark = [pytest.mark.image, pytest.mark.slow, pytest.mark.timeout(3600)]

DISK = ROOT / "samples" / "broker-0"
KNOWN = "185:0"
UNKNOWN = "100123:0"  # as OpenShift makes them up: a user without a name, in group 0
QUESTION = "SELECT topic, count(*) AS rows FROM records GROUP BY topic ORDER BY topic LIMIT 1"
ANSWER = '{"topic":"tx-a","rows":352}\n'
GREEN = "--set=limits.fail_on_quarantine=false"  # two batches of the disk are damaged
INGEST = ("ingest", "--source", "/source", "--lake", "/lake/made", GREEN)

# As Kubernetes starts driver and executor, but for the manager of the cluster: a standalone master
# without workers lets an executor join that it has not started.
KUBERNETES = """
set -eu
printf '%s\\n' spark.master=spark://127.0.0.1:7077 spark.submit.deployMode=cluster \
  spark.driver.host=127.0.0.1 spark.driver.port=7078 > /tmp/spark.properties
export SPARK_LOCAL_IP=127.0.0.1 SPARK_CONF_DIR=/tmp SPARK_APPLICATION_ID=spark-1
spark-class org.apache.spark.deploy.master.Master \
  --host 127.0.0.1 --port 7077 --webui-port 0 > /tmp/master.log 2>&1 &
until grep -q 'elected leader' /tmp/master.log; do sleep 0.2; done
entry="python -P -m seglake.cli.image_entry"
SPARK_DRIVER_BIND_ADDRESS=127.0.0.1 $entry driver --properties-file /tmp/spark.properties \
  --class org.apache.spark.deploy.PythonRunner local:///opt/seglake/jobs/ingest_segments.py \
  --source /source --lake /lake/made --set limits.fail_on_quarantine=false > /tmp/driver.log 2>&1 &
driver=$!
until grep -q 'Starting job' /tmp/driver.log; do kill -0 $driver; sleep 0.2; done
export SPARK_DRIVER_URL=spark://CoarseGrainedScheduler@127.0.0.1:7078 SPARK_EXECUTOR_ID=7 \
  SPARK_EXECUTOR_CORES=1 SPARK_EXECUTOR_MEMORY=512m SPARK_EXECUTOR_POD_IP=127.0.0.1 \
  SPARK_EXECUTOR_POD_NAME=pod SPARK_RESOURCE_PROFILE_ID=0 SPARK_JAVA_OPT_0=-XX:+UseSerialGC
$entry executor > /tmp/executor.log 2>&1 &
wait $driver
grep 'Starting task' /tmp/driver.log
grep 'Finished task' /tmp/executor.log
"""

# A store inside, since there is no network to one outside.
STORE = """
set -eu
mkdir -p /lake/store/bucket
/server/versitygw --port 127.0.0.1:7070 --quiet posix /lake/store > /lake/store.log 2>&1 &
until python -c 'import socket; socket.create_connection(("127.0.0.1", 7070))' 2> /dev/null
do sleep 0.2; done
seglake ingest --source /source --lake s3://bucket/made \
  --set limits.fail_on_quarantine=false > /lake/ingest.log 2>&1
seglake sql --lake s3://bucket/made --json "$1"
"""


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    with built_image() as built:
        yield built


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What this very process makes of the disk."""
    lake = tmp_path_factory.mktemp("here") / "made"
    ingested(DISK, lake, isolation="read_committed")
    return tables_of(lake)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder of the machine that every user may write to, mounted as /lake."""
    folder = tmp_path / "lake"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def container(image: Image, user: str, lake: Path, **environment: str) -> Container:
    return Container(image, user, {DISK: "/source", lake: "/lake"}, environment)


def tables_of(lake: Path) -> dict[str, list[str]]:
    return {table.name: content(lake, table.name) for table in TABLES}


@pytest.mark.parametrize("user", [KNOWN, UNKNOWN])
def test_root_cannot_be_written_to(image: Image, user: str, lake: Path) -> None:
    places = "/new /opt/venv/new /opt/seglake/new /opt/spark/jars/new /var/new"
    done = container(image, user, lake).run("sh", "-c", f"touch /tmp/new; touch {places}")
    assert done.stderr.count("Read-only file system") == len(places.split())
    assert "/tmp/new" not in done.stderr


def test_nothing_asked_for_shows_the_commands_below_tini(image: Image, lake: Path) -> None:
    assert container(image, KNOWN, lake).run().stdout.startswith("usage: seglake COMMAND")
    first = container(image, KNOWN, lake).run("cat", "/proc/1/comm")
    assert first.stdout == "tini\n"


@pytest.mark.parametrize("user", [KNOWN, UNKNOWN])
def test_processes_make_the_same_tables_and_compile_nothing(
    image: Image, user: str, lake: Path, expected: dict[str, list[str]]
) -> None:
    inside = container(image, user, lake, NUMBA_DEBUG_CACHE="1")
    done = inside.run(*INGEST, "--engine", "local")
    assert done.returncode == 0, done.stderr
    assert "2070 records" in done.stdout
    assert done.stdout.count("[cache] data loaded") >= 3  # this process's kernels; workers' too
    assert "[cache] data saved" not in done.stdout
    assert tables_of(lake / "made") == expected


@pytest.mark.parametrize("user", [KNOWN, UNKNOWN])
def test_spark_makes_the_same_tables_and_reads_them_without_a_network(
    image: Image, user: str, lake: Path, expected: dict[str, list[str]]
) -> None:
    inside = container(image, user, lake)
    done = inside.run(*INGEST, seconds=600)
    assert done.returncode == 0, done.stderr
    assert tables_of(lake / "made") == expected
    asked = inside.run("sql", "--lake", "/lake/made", QUESTION, "--json", seconds=600)
    assert (asked.returncode, asked.stdout) == (0, ANSWER), asked.stderr


def test_lake_on_s3_needs_nothing_that_the_image_lacks(image: Image, lake: Path) -> None:
    program = versitygw_program()
    server = S3Server("http://127.0.0.1:7070", lake)
    keys = {"ROOT_ACCESS_KEY": server.access_key, "ROOT_SECRET_KEY": server.secret_key}
    mounts = {DISK: "/source", lake: "/lake", program.parent: "/server"}
    inside = Container(image, UNKNOWN, mounts, {**server.environment(), **keys})
    asked = inside.run("sh", "-c", STORE, "store", QUESTION, seconds=900)
    log = (lake / "ingest.log").read_text()
    assert (asked.returncode, asked.stdout) == (0, ANSWER), log + asked.stderr


def test_driver_and_executor_of_kubernetes_work_together(
    image: Image, lake: Path, expected: dict[str, list[str]]
) -> None:
    done = container(image, UNKNOWN, lake).run("sh", "-c", KUBERNETES, seconds=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "executor 7" in done.stdout
    assert tables_of(lake / "made") == expected


def test_end_that_is_asked_for_comes_at_once(image: Image, lake: Path, tmp_path: Path) -> None:
    command = container(image, KNOWN, lake).command(*INGEST, "-vv")
    with started(command, log=tmp_path / "container.log") as running:
        running.wait_for_text("Running Spark version", seconds=300)
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text("utf-8")
        asked_at = time.monotonic()
        os.kill(int(children), signal.SIGTERM)  # the entrypoint, process 1 inside
        while running.is_running:
            assert time.monotonic() < asked_at + 10  # what Docker gives it before it kills
            time.sleep(0.05)
