"""Runs the product's commands as a user of a Spark cluster does, from a process of their own."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from seglake.environment.java_home import provide_java
from seglake.lake.tables import TABLES
from support.lakes import content
from support.servers.processes import LOOPBACK, Running, started

ROOT = Path(__file__).resolve().parents[2]
CLUSTER_CONF = ROOT / "conf" / "spark" / "cluster.conf"
# It goes nowhere, and only drivers need the two packages: each driver and executor unpacks it.
_QUICK_PACK = "--compress-level=0 --exclude '*/deltalake/*' --exclude '*/_duckdb.*'"
SAMPLE = ROOT / "samples" / "broker-0"


class Packed(NamedTuple):
    """Result of `make pack`: the archive, and the Python inside of it."""

    archive: Path
    python: Path


def packed(folder: Path, *, workers_python: Path | None = None) -> Packed:
    """Run `make pack` into a folder of the caller's.

    Args:
        folder: for the archive and what is made on the way.
        workers_python: of the cluster's nodes; by default the Python that runs us.
    """
    prefix = Path(sys.prefix)
    archive = folder / "seglake-env.tar.gz"
    made = {"VENV": prefix, "PACK": folder / "pack", "PACKED": archive, "PACK_OPTIONS": _QUICK_PACK}
    if workers_python is not None:
        made["PACK_PYTHON"] = workers_python
    subprocess.run(
        ["make", "--no-print-directory", f"--old-file={prefix / '.ready'}", "pack"]
        + [f"{name}={value}" for name, value in made.items()],
        cwd=ROOT,
        env=os.environ | {"PIP_COMPILE": "0"},  # Python compiles what it imports
        check=True,
    )
    inside = folder / "pack" / "env"
    assert any(inside.rglob("record_kernel.*.nbc")), "each worker would compile the kernels"
    return Packed(archive, inside / "bin" / "python")


def environment(python_of_workers: str | Path) -> dict[str, str]:
    """Return the variables of a user's shell: our packages, Java, and the workers' Python."""
    java = dict(os.environ)
    provide_java(java)
    return {
        "PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "JAVA_HOME": java["JAVA_HOME"],
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYSPARK_PYTHON": str(python_of_workers),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def ingest_command(source: Path, lake: Path, master: str, *options: str) -> list[str]:
    """`seglake ingest` on a cluster."""
    return [
        *(sys.executable, "-m", "seglake", "ingest"),
        *("--source", str(source), "--lake", str(lake), "--master", master),
        *("--config", str(CLUSTER_CONF), "--isolation", "read_uncommitted"),
        *options,
    ]


def run(
    command: list[str], python_of_workers: str | Path, *, seconds: float = 240
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment(python_of_workers)},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )


@contextmanager
def running(
    command: list[str], python_of_workers: str | Path, log: Path, variables: Mapping[str, str]
) -> Iterator[Running]:
    """Run a command while the block lasts, with further variables; it prints into a log."""
    own = environment(python_of_workers) | dict(variables)
    with started(command, log=log, environment=own, folder=ROOT) as process:
        yield process


def all_rows(lake: Path) -> Mapping[str, list[str]]:
    """The rows of all tables, without what every run makes anew."""
    return {table.name: content(lake, table.name) for table in TABLES}
