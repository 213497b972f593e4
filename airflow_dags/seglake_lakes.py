"""Reads the lakes of the DAGs from one TOML file, at each DAG parse. Does not import Airflow."""

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

FILE_VARIABLE = "SEGLAKE_LAKES"
_BESIDE = Path(__file__).with_name("lakes.toml")
_NAME = re.compile(r"[A-Za-z0-9_.-]*")


class LakesFileError(Exception):
    """The lakes' file cannot be used; Airflow shows the message as the DAG's import error."""


@dataclass(frozen=True, kw_only=True)
class Lake:
    """A lake with three DAGs, a pool and an asset; README.md explains each key.

    Attributes:
        lake: URI of the tables.
        jobs: folder of seglake's job files, by its path on the worker.
        name: name that distinguishes several lakes; a single lake needs none.
        venv: seglake's virtual environment, by its path on the worker; empty if the worker's PATH,
            SPARK_HOME and PYSPARK_PYTHON name it.
        deserialize: globs of topics whose values are decoded after each ingest; empty for none.
        latest: globs of topics whose latest state is kept; empty for none.
        metrics_folder: folder for each task's metrics file; empty for none.
        openlineage: file or URL for lineage events; empty for none.
        on_failure: `module.function`, called with Airflow's context when a task has failed.
    """

    lake: str
    sources: tuple[str, ...]
    jobs: str
    name: str = ""
    topics: tuple[str, ...] = ()
    isolation: str = ""
    upper_bound: str = ""
    rescue: bool = False
    arguments: tuple[str, ...] = ()
    audit: bool = True
    audit_arguments: tuple[str, ...] = ()
    deserialize: tuple[str, ...] = ()
    deserialize_arguments: tuple[str, ...] = ()
    latest: tuple[str, ...] = ()
    latest_arguments: tuple[str, ...] = ()
    maintain_arguments: tuple[str, ...] = ()
    schedule: str = "@hourly"
    backfill_schedule: str = "@daily"
    maintain_schedule: str = "@weekly"
    connection: str = "spark_default"
    venv: str = ""
    properties_file: str = ""
    spark: Mapping[str, str] = field(default_factory=dict)
    metrics_folder: str = ""
    openlineage: str = ""
    pool: str = ""
    retries: int = 3
    retry_minutes: float = 5.0
    timeout_hours: float = 12.0
    owner: str = "seglake"
    on_failure: str = ""

    @property
    def identity(self) -> str:
        """Return the name of the asset, and of the pool unless the lake has a pool name."""
        return f"seglake_{self.name}" if self.name else "seglake"

    @property
    def asset_uri(self) -> str:
        """Return the URI of the asset that an ingest updates."""
        return f"file://{self.lake}" if self.lake.startswith("/") else self.lake

    @property
    def pool_name(self) -> str:
        """Return the pool of the tasks that write to the lake."""
        return self.pool or self.identity

    # Any: the types that params may have.
    @property
    def params(self) -> dict[str, Any]:
        """Return the default params of a run."""
        return {
            "sources": list(self.sources),
            "topics": list(self.topics),
            "isolation": self.isolation,
            "upper_bound": self.upper_bound,
            "rescue": self.rescue,
            "metrics_folder": self.metrics_folder,
            "openlineage": self.openlineage,
        }

    def dag_id(self, verb: str) -> str:
        """Return the id of the DAG that ingests, backfills or maintains this lake, by its verb."""
        return f"seglake_{verb}_{self.name}" if self.name else f"seglake_{verb}"

    def job(self, command: str) -> str:
        """Return the path of the job file of a command, such as `ingest`."""
        return f"{self.jobs.rstrip('/')}/{_JOB_FILES[command]}"

    def further_arguments(self, command: str) -> tuple[str, ...]:
        """Return the lake's own arguments for the job of a command."""
        name = "arguments" if command == "ingest" else f"{command}_arguments"
        found: tuple[str, ...] = getattr(self, name)
        return found

    # Any: values of several types.
    def submitted(self, command: str) -> dict[str, Any]:
        """Return the arguments of spark-submit, except the job's arguments."""
        return {
            "name": f"{self.identity} {command}",
            "conn_id": self.connection,
            "application": self.job(command),
            "conf": dict(self.spark),
            "properties_file": self.properties_file or None,
        }


_JOB_FILES = {
    "ingest": "ingest_segments.py",
    "audit": "audit_lake.py",
    "deserialize": "deserialize_values.py",
    "latest": "update_latest.py",
    "maintain": "maintain_lake.py",
}


_FIELDS = {field.name: field for field in fields(Lake)}
_NEEDED = ("lake", "sources", "jobs")


class _Kind(NamedTuple):
    named: str
    holds: Callable[[object], bool]


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


_KINDS: Mapping[object, _Kind] = {  # accepted values for each type of field
    str: _Kind("a text", lambda value: isinstance(value, str)),
    bool: _Kind("true or false", lambda value: isinstance(value, bool)),
    int: _Kind("a whole number", lambda value: type(value) is int),
    float: _Kind("a number", lambda value: type(value) in (int, float)),
    tuple[str, ...]: _Kind(
        "a list of texts", lambda value: isinstance(value, list) and _are_texts(value)
    ),
    Mapping[str, str]: _Kind(
        "a table of texts", lambda value: isinstance(value, dict) and _are_texts(value.values())
    ),
}


def lakes() -> tuple[Lake, ...]:
    """Return the lakes of the file that SEGLAKE_LAKES names, else of lakes.toml beside this module.

    Raises:
        LakesFileError: the file cannot be read, or a key or a value in it is wrong.
    """
    path = Path(os.environ.get(FILE_VARIABLE) or _BESIDE)
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LakesFileError(
            f"{path}: {error}. The variable {FILE_VARIABLE} names this file."
        ) from error
    tables = content.pop("lake", [])
    is_list = isinstance(tables, list) and all(isinstance(table, dict) for table in tables)
    if content or not is_list:
        raise LakesFileError(f"{path}: only [[lake]] tables are known here")
    found = tuple(_lake(table, f"{path}, lake {n}") for n, table in enumerate(tables, 1))
    names = [item.name for item in found]
    if doubles := {name for name in names if names.count(name) > 1}:
        raise LakesFileError(f"{path}: each lake needs a `name` of its own, got {doubles} twice")
    return found


def _lake(table: Mapping[str, object], place: str) -> Lake:
    if unknown := sorted(set(table) - set(_FIELDS)):
        raise LakesFileError(f"{place}: no such key: {', '.join(unknown)}")
    if missing := [name for name in _NEEDED if not table.get(name)]:
        raise LakesFileError(f"{place}: {', '.join(missing)} must be given")
    values = {name: _checked(name, value, place) for name, value in table.items()}
    lake = Lake(**values)  # type: ignore[arg-type]  # each was checked against its field's type
    if not _NAME.fullmatch(lake.name):
        raise LakesFileError(f"{place}: name {lake.name!r} may only have letters, digits and _.-")
    return lake


def _checked(name: str, value: object, place: str) -> object:
    """Check that a value has the type of its field; return lists as tuples."""
    kind = _KINDS[_FIELDS[name].type]
    if not kind.holds(value):
        raise LakesFileError(f"{place}: {name} must be {kind.named}, got {value!r}")
    return tuple(value) if isinstance(value, list) else value
