"""A standalone Spark cluster on loopback, from a pyspark that pip installed: what a user starts.

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
from support.class_archive import CLASS_PATH
from support.quick_spark import quick_java
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

    def __init__(self, folder: Path, stack: ExitStack, home: Path) -> None:
        self._folder = folder
        self._stack = stack
        self._home = home
        self._environment = _environment(folder, home)
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
        """Return the workers that were not killed."""
        return [worker for worker in self.workers if worker.is_running]

    def application_count(self) -> int:
        """Return the number of applications that the master has accepted so far."""
        return self._master.log.read_text().count("Registered app ")

    def executor_logs(self, application: int) -> list[str]:
        """Return the output so far of an application's executors; the first is number 0."""
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
        command = (self._home / "bin" / "spark-class", f"{_DEPLOY}.{main_class}")
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
def spark_cluster(
    folder: Path, *, worker_count: int = 2, home: Path = SPARK_HOME
) -> Iterator[SparkCluster]:
    """Start a cluster with its logs and work in `folder`; it ends with the block."""
    with ExitStack() as stack:
        cluster = SparkCluster(folder, stack, home)
        cluster.add_workers(worker_count)
        yield cluster


def _environment(folder: Path, home: Path) -> dict[str, str]:
    """Return the environment of master and workers: without Python packages or Spark's settings."""
    java = dict(os.environ)
    provide_java(java)
    (folder / "conf").mkdir(parents=True)
    return {
        "JAVA_HOME": java["JAVA_HOME"],
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOG_DIR": str(folder),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_MEMORY": "512m",
        # Of all JVMs: an application's properties replace what a file says of its executors.
        "JDK_JAVA_OPTIONS": quick_java(),
        "SPARK_DAEMON_CLASSPATH": CLASS_PATH if home == SPARK_HOME else "",
        "PYTHONPATH": "",
        "PYSPARK_PYTHON": "",
    }
