"""Files to and from HDFS past our own storage, and runs beside it."""

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from hdfs_native import Client, WriteOptions

from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.ingest_steps.run_context import ScanContext
from seglake.pipelines.segment_ingest.ingest import ingest
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.storages import Storages
from seglake.task_engine.engine import LocalEngine
from support.ingest_drivers import WAVES
from support.remote_runs import Ended
from support.servers.hadoop_programs import write_conf
from support.servers.hdfs_cluster import HdfsCluster

ROOT = Path(__file__).parents[2]
DISK = ROOT / "samples" / "broker-0"
LOCAL = ("--engine", "local", "--set", "limits.local_processes=1")

_COPIED_AT_A_TIME = 16  # with one replica a close waits half a second
_TRIES = 4  # on a loaded machine both data nodes may miss the client's deadline for a block
_HADOOPS = ("HADOOP_", "SPARK_HOME")
_SECONDS = 280
_DEAD = "127.0.0.1:1"


class NameNodes(Protocol):
    """Addresses and properties of a running HDFS."""

    @property
    def uri(self) -> str: ...

    @property
    def properties(self) -> Mapping[str, str]: ...


def put(source: Path, hdfs: NameNodes, folder: str) -> None:
    """Copy what is below a local folder."""
    client = Client(hdfs.uri)

    def copy(path: Path) -> None:
        target, content = f"{folder}/{path.relative_to(source)}", path.read_bytes()
        for left in reversed(range(_TRIES)):
            try:
                with client.create(target, WriteOptions(overwrite=True)) as file:
                    if content:
                        file.write(content)
            except RuntimeError:  # hdfs-native has no error of its own for it
                if not left:
                    raise
                time.sleep(1)
            else:
                return

    with ThreadPoolExecutor(_COPIED_AT_A_TIME) as pool:
        list(pool.map(copy, [path for path in source.rglob("*") if path.is_file()]))


def fetched(hdfs: NameNodes, folder: str, target: Path) -> Path:
    """Copy what is below a folder to a local one, which is returned."""
    client = Client(hdfs.uri, config={**hdfs.properties})
    for found in client.list_status(folder, recursive=True):
        path = target / found.path.removeprefix(folder).lstrip("/")
        if found.isdir:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(client.read(found.path).read())
    return target


def conf_with_names(hdfs: HdfsCluster, folder: Path) -> Path:
    """HADOOP_CONF_DIR of a nameservice `prod`, whose first name node is dead, and a view of it."""
    view = "fs.viewfs.mounttable.view"
    provider = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
    return write_conf(
        folder,
        names_of(hdfs)
        | {
            "fs.defaultFS": "hdfs://prod",
            "dfs.client.failover.proxy.provider.prod": provider,
            f"{view}.link./disks": "hdfs://prod/backup",
            f"{view}.link./lakes": "hdfs://prod/data",
            f"{view}.linkFallback": "hdfs://prod/elsewhere",
        },
    )


def names_of(hdfs: HdfsCluster) -> dict[str, str]:
    """The properties that say which name nodes `prod` has."""
    return {
        "dfs.nameservices": "prod",
        "dfs.ha.namenodes.prod": "nn1,nn2",
        "dfs.namenode.rpc-address.prod.nn1": _DEAD,
        "dfs.namenode.rpc-address.prod.nn2": hdfs.authority,
    }


def seglake(environment: Mapping[str, str], *arguments: str) -> Ended:
    """Run a command in a process that finds nothing of Hadoop but what the environment names."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_HADOOPS)}
    packages = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-m", "seglake", *arguments],
        cwd=ROOT,
        env={**inherited, "PYTHONPATH": packages, **environment},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def ingested_in_waves(
    source: str, lake: str, properties: Mapping[str, str], after: Callable[[str], None]
) -> IngestSummary:
    """Ingest with small waves in this process, and call `after` between the steps of each."""
    settings = Settings.from_mappings([("test", {**WAVES})])
    reporter = RunReporter(io.StringIO())
    storages = Storages(HadoopProperties(properties))
    with LocalEngine(1) as engine:
        scan = ScanContext(
            storage=storages, settings=settings, engine=engine, reporter=reporter, after=after
        )
        return ingest([source], lake, scan)
