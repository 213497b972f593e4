"""Spark's Thrift server, started by a command line that a page shows, and asked by others."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.class_archive import CLASS_PATH
from support.quick_spark import quick_java
from support.servers.processes import free_port, started

_SHOWN_PORT = "10000"
# Its classes come from the archive, and no query is cut into four.
_QUICK = (
    ('--driver-class-path "', f'--driver-class-path "{CLASS_PATH}:'),
    ("shuffle.partitions=4", "shuffle.partitions=1"),
    ("snapshotPartitions=4", "snapshotPartitions=1"),
)
_START_SECONDS = 240
_ASK_SECONDS = 400


@contextmanager
def thrift_server(command: str, *, folder: Path, log: Path) -> Iterator[int]:
    """Run the server on a free port, and stop it at the end.

    Args:
        command: lines of a shell that name port 10000.
        folder: where it runs.
        log: file that takes what it prints.

    Yields:
        The port.
    """
    port = free_port()
    command = command.replace(_SHOWN_PORT, str(port))
    for shown, quick in _QUICK:
        assert shown in command
        command = command.replace(shown, quick)
    shell = ["bash", "-ec", command]
    with started(shell, log=log, environment=_environment(), folder=folder) as server:
        server.wait_for_port(port, seconds=_START_SECONDS)
        yield port


def answer_of(commands: str, *, port: int, start: str, folder: Path) -> str:
    """Return the output of commands for the server, with the variables of its start command."""
    variables = [line for line in start.splitlines() if line.startswith("export ")]
    text = "\n".join((*variables, commands)).replace(_SHOWN_PORT, str(port))
    ran = subprocess.run(
        ["bash", "-ec", text],
        cwd=folder,
        env={**os.environ, **_environment()},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_ASK_SECONDS,
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(f"beeline ended with {ran.returncode}: {ran.stderr.decode()[-2000:]}")
    return ran.stdout.decode()


def _environment() -> dict[str, str]:
    """Return the environment of a shell with this Python's virtual environment, and quick JVMs."""
    return {
        "SPARK_SUBMIT_OPTS": quick_java(),
        "SPARK_BEELINE_OPTS": quick_java(),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
