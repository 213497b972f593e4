"""Airflow in a folder of its own: its commands, and its three servers on PostgreSQL.

Airflow has its own environment, so all of it runs in other processes. `seglake` jobs that it starts
run in the environment of the tests.
"""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.servers.airflow_commands import END
from support.servers.postgres_server import Postgres
from support.servers.processes import LOOPBACK, ServerError, free_port, started

ROOT = Path(__file__).resolve().parents[3]
DAGS = ROOT / "airflow_dags"
_COMMANDS = Path(__file__).with_name("airflow_commands.py")
_FACTS = Path(__file__).with_name("airflow_facts.py")
_VENV = Path(os.environ.get("SEGLAKE_AIRFLOW_VENV") or ROOT / ".venv-airflow")
_SERVERS = (("api-server",), ("scheduler", "--skip-serve-logs"), ("dag-processor",))
_SECRET = "only for tests, and on loopback alone"
_COMMAND_SECONDS = 600
_START_SECONDS = 300


def require_airflow() -> None:
    """Skip the test where Airflow's environment is not there."""
    if not (_VENV / "bin" / "airflow").exists():
        pytest.skip(f"there is no Airflow in {_VENV}: make setup-airflow makes it")


@dataclass
class Airflow:
    """A folder of Airflow's, with the lakes that its DAGs serve.

    Attributes:
        lakes: tables of the lakes' file; `jobs` and `venv` are those of the tests, unless given.
        master: what the connection `spark_default` says; empty where a test adds it.
        database: URL; SQLite in the folder when empty.
        variables: further ones of the environment.
        venv: the environment that Airflow is in.
    """

    folder: Path
    lakes: Sequence[Mapping[str, object]]
    dags: Path = DAGS
    master: str = "local[2]"
    database: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    venv: Path = _VENV

    def prepare(self) -> None:
        """Write the lakes' file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        own: dict[str, object] = {
            "jobs": str(ROOT / "jobs"),
            "venv": sys.prefix,
            "retry_minutes": 0,
        }
        tables = [toml_table("lake", own | dict(lake)) for lake in self.lakes]
        self.lakes_file.write_text("\n".join(tables), "utf-8")

    @property
    def lakes_file(self) -> Path:
        return self.folder / "lakes.toml"

    @property
    def sqlite(self) -> Path:
        return self.folder / "airflow.db"

    @property
    def environment(self) -> dict[str, str]:
        """For every process of this Airflow."""
        connection = json.dumps({"conn_type": "spark", "host": self.master})
        return {
            **os.environ,
            "PATH": os.pathsep.join([str(self.venv / "bin"), os.environ["PATH"]]),
            "AIRFLOW_HOME": str(self.folder),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": self.database or f"sqlite:///{self.sqlite}",
            "AIRFLOW__API_AUTH__JWT_SECRET": _SECRET,
            "AIRFLOW__API__SECRET_KEY": _SECRET,
            "SEGLAKE_LAKES": str(self.lakes_file),
            **({"AIRFLOW_CONN_SPARK_DEFAULT": connection} if self.master else {}),
            **self.variables,
        }

    def run(self, *arguments: str, is_checked: bool = True) -> str:
        """Run a command of Airflow's and give back what it prints, on both channels."""
        answer = subprocess.run(
            ["airflow", *arguments],
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
        if is_checked and answer.returncode != 0:
            raise ServerError(
                f"airflow {' '.join(arguments)} ended with {answer.returncode}:\n{answer.stdout}"
            )
        return answer.stdout

    def run_all(self, commands: Sequence[Sequence[str]]) -> list[str]:
        """Run commands in one process, and return what each prints, however it ends."""
        answer = subprocess.run(
            [self.venv / "bin" / "python", _COMMANDS],
            env=self.environment,
            cwd=self.folder,
            input=json.dumps(commands),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
        *printed, rest = answer.stdout.split(END)
        if len(printed) != len(commands):
            raise ServerError(f"airflow {' '.join(commands[len(printed)])} did not end:\n{rest}")
        return printed

    # Any: what JSON holds.
    def facts(self) -> Any:
        """Return the facts that Airflow sees in the dags folder; see airflow_facts.py."""
        return self.asked(_FACTS, str(self.dags))

    # Any: what JSON holds.
    def asked(self, script: Path, *arguments: str) -> Any:
        """Run a script in Airflow's Python, and return the JSON of its last line."""
        environment = {**self.environment}
        environment.pop("PYTHONPATH", None)  # the DAGs must do without seglake
        answer = subprocess.run(
            [self.venv / "bin" / "python", script, *arguments],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
        if answer.returncode != 0:
            raise ServerError(f"{script.name} ended with {answer.returncode}:\n{answer.stderr}")
        return json.loads(answer.stdout.splitlines()[-1])


@contextmanager
def serving(airflow: Airflow, postgres: Postgres, *, parallelism: int) -> Iterator[None]:
    """Migrate the database, and run API server, scheduler and DAG processor for the block."""
    port = free_port()
    base = f"http://{LOOPBACK}:{port}"
    airflow.database = postgres.url
    airflow.variables = {
        **airflow.variables,
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": str(parallelism),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{base}/execution/",
        "AIRFLOW__API__HOST": LOOPBACK,
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API__BASE_URL": base,
        "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "False",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "10",
    }
    airflow.run("db", "migrate")
    with ExitStack() as stack:
        for command in _SERVERS:
            stack.enter_context(
                started(
                    [airflow.venv / "bin" / "airflow", *command],
                    log=airflow.folder / f"{command[0]}.log",
                    environment=airflow.environment,
                    folder=airflow.folder,
                )
            )
        _wait_until_healthy(f"{base}/api/v2/monitor/health")
        yield


def _wait_until_healthy(url: str) -> None:
    end = time.monotonic() + _START_SECONDS
    last = ""
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                last = answer.read().decode()
        except (urllib.error.URLError, OSError) as error:
            last = str(error)
        else:
            parts = json.loads(last)
            wanted = ("metadatabase", "scheduler", "dag_processor")
            if all(parts[part]["status"] == "healthy" for part in wanted):
                return
        time.sleep(0.5)
    raise ServerError(f"Airflow is not healthy after {_START_SECONDS} s: {last}")


def toml_table(name: str, values: Mapping[str, object]) -> str:
    """One table of an array of tables; texts, numbers and lists read as in JSON."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join([f"[[{name}]]", *lines, ""])
