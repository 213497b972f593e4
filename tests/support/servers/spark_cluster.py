"""A standalone Spark cluster on loopback, from the pyspark that is installed: what a user starts.

Master and workers are processes of their own, with nothing of ours in their environment: Python
tasks find only what the application brings, or what the Python has that it names.
"""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from seglake.environment.java_home import provide_java
from support.servers.processes import LOOPBACK, Running, started

SPARK_HOME = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"
_URL = re.compile(rf"Starting Spark master at (spark://{re.escape(LOOPBACK)}:[0-9]+)")
_PAGE = re.compile(r"MasterWebUI.*started at http://[^:]+:([0-9]+)")
_WORKER_MEMORY = "2g"  # an executor asks for 1g
_START_SECONDS = 120


class SparkCluster:
    """A running master and its workers, each of one core; they end with the stack.

    Attributes:
        master_url: exactly as the master spells it.
        page_port: where the master's page is.
        workers: all that were started, the dead ones too.
    """

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._environment = _environment(folder)
        self.workers: list[Running] = []
        self._master = self._run("master", "master.Master", "--port", "0")
        self._master.wait_for_text("I have been elected leader", seconds=_START_SECONDS)
        self.master_url = self._said(_URL)
        self.page_port = int(self._said(_PAGE))

    def add_workers(self, count: int) -> None:
        """Start workers and wait until the master knows them; `kill` takes their executors too."""
        added = [self._add_worker() for _ in range(count)]
        for worker in added:
            worker.wait_for_text("Successfully registered with master", seconds=_START_SECONDS)

    def running_workers(self) -> list[Running]:
        """Those that were not killed."""
        return [worker for worker in self.workers if worker.is_running]

    def application_count(self) -> int:
        """How many applications the master has taken on so far."""
        return self._master.log.read_text().count("Registered app ")

    def executor_logs(self, application: int) -> list[str]:
        """What the executors of an application have printed so far; the first one is number 0."""
        files = self._folder.glob(f"worker*-work/app-*-{application:04d}/*/stderr")
        return [file.read_text(errors="replace") for file in sorted(files)]

    def worker_of(self, application: int, executor: str) -> Running:
        """The worker that runs an executor of an application."""
        [folder] = self._folder.glob(f"worker*-work/app-*-{application:04d}/{executor}")
        return self.workers[int(folder.parts[-3].removeprefix("worker").removesuffix("-work"))]

    def _add_worker(self) -> Running:
        name = f"worker{len(self.workers)}"
        place = ("--work-dir", str(self._folder / f"{name}-work"))
        size = ("--cores", "1", "--memory", _WORKER_MEMORY)
        self.workers.append(self._run(name, "worker.Worker", *size, *place, self.master_url))
        return self.workers[-1]

    def _run(self, name: str, main_class: str, *arguments: str) -> Running:
        command = (SPARK_HOME / "bin" / "spark-class", f"{_DEPLOY}.{main_class}")
        place = ("--host", LOOPBACK, "--webui-port", "0")
        return self._stack.enter_context(
            started(
                [*command, *place, *arguments],
                log=self._folder / f"{name}.log",
                environment=self._environment,
            )
        )

    def _said(self, pattern: re.Pattern[str]) -> str:
        found = pattern.search(self._master.log.read_text())
        if found is None:
            raise ValueError(f"the master's log has no {pattern.pattern}: {self._master.log}")
        return found[1]


@contextmanager
def spark_cluster(folder: Path, *, worker_count: int = 2) -> Iterator[SparkCluster]:
    """Start a cluster with its logs and work in `folder`; it ends with the block."""
    with ExitStack() as stack:
        cluster = SparkCluster(folder, stack)
        cluster.add_workers(worker_count)
        yield cluster


def _environment(folder: Path) -> dict[str, str]:
    """What master and workers get: no Python packages, and no settings of this machine's Spark."""
    java = dict(os.environ)
    provide_java(java)
    (folder / "conf").mkdir(parents=True)
    return {
        "JAVA_HOME": java["JAVA_HOME"],
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOG_DIR": str(folder),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_MEMORY": "512m",
        "PYTHONPATH": "",
        "PYSPARK_PYTHON": "",
    }
