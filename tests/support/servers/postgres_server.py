"""PostgreSQL in a folder of its own, from the machine's own package."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.servers.processes import LOOPBACK, ServerError, free_port, started

_USER = "airflow"
_DATABASE = "postgres"
_DEBIAN = "/usr/lib/postgresql"
# PostgreSQL refuses to run as root. What runs as another user must be told again to end with us.
_NOT_AS_ROOT = ("setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups")
_TIED = ("--pdeathsig", "KILL")


@dataclass(frozen=True)
class Postgres:
    """A server that runs."""

    folder: Path  # of its programs
    port: int

    @property
    def url(self) -> str:
        return f"postgresql+psycopg2://{_USER}@{LOOPBACK}:{self.port}/{_DATABASE}"

    def rows(self, query: str) -> list[list[str]]:
        """Return the rows of a query, as texts."""
        where = ["-h", LOOPBACK, "-p", str(self.port), "-U", _USER, "-d", _DATABASE]
        answer = subprocess.run(
            [self.folder / "psql", *where, "-X", "-A", "-t", "-F", "\t", "-c", query],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if answer.returncode != 0:
            raise ServerError(f"{query}\n{answer.stderr}")
        return [line.split("\t") for line in answer.stdout.splitlines()]


def require_postgres() -> Path:
    """The folder of PostgreSQL's programs; skips the test where there is none."""
    found = sorted(Path(_DEBIAN).glob("*/bin/initdb"))
    if on_path := shutil.which("initdb"):
        found.append(Path(on_path).resolve())
    if not found:
        pytest.skip("there is no initdb of PostgreSQL: apt-get install postgresql brings it")
    return found[-1].parent


@contextmanager
def postgres(log: Path) -> Iterator[Postgres]:
    """A server with an empty database; it and its files are gone with the block."""
    programs = require_postgres()
    # Not below pytest's folder: no other user may enter that.
    with tempfile.TemporaryDirectory(prefix="seglake-postgres-") as name:
        folder = Path(name)
        prefix = _prefix(folder)
        data = folder / "data"
        options = ["-U", _USER, "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(
            [*prefix, programs / "initdb", "-D", data, *options],
            cwd=folder,
            capture_output=True,
            timeout=120,
            check=True,
        )
        port = free_port()
        settings = {
            "listen_addresses": LOOPBACK,
            "unix_socket_directories": "",
            "fsync": "off",
        }
        command = [*prefix, *(_TIED if prefix else ()), programs / "postgres", "-D", data]
        command += ["-p", str(port), *(f"--{key}={value}" for key, value in settings.items())]
        with started(command, log=log, folder=folder) as running:
            running.wait_for_port(port)
            yield Postgres(programs, port)


def _prefix(folder: Path) -> Sequence[str]:
    if os.getuid() != 0:
        return ()
    shutil.chown(folder, "postgres", "postgres")
    return _NOT_AS_ROOT
