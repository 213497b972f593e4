"""Imports point one way, and what only one module may touch, only one module touches.

airflow_dags --command line--> jobs --> pipelines --> libs; see CONTRIBUTING.md, "Rooms".
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ROOMS: Mapping[str, str] = {  # room -> folder that holds its package
    "segment_codec": "libs/segment_codec/src",
    "lake": "libs/lake/src",
    "pipelines": ".",
    "jobs": ".",
    "airflow_dags": ".",
}
MAY_IMPORT: Mapping[str, frozenset[str]] = {  # of the rooms; its own is always allowed
    "segment_codec": frozenset(),
    "lake": frozenset(),
    "pipelines": frozenset({"segment_codec", "lake"}),
    "jobs": frozenset({"pipelines", "lake"}),
    "airflow_dags": frozenset(),  # they know the jobs as command lines
}
# Airflow has its dags folder on the path, not what it lies in.
DAG_MODULES = frozenset(path.stem for path in (ROOT / "airflow_dags").glob("*.py"))
NEVER_IN_DAGS = frozenset({"airflow_dags", "pyspark", "pyarrow", "deltalake", "numpy"})
NEVER_IN_CODEC = frozenset(
    {"pyspark", "pyarrow", "deltalake", "logging", "time", "datetime", "pathlib", "os", "io"}
)
COMMITTERS = frozenset({"lake.delta_tables", "lake.delta_commit"})
OPENERS = frozenset(
    {
        *("lake.local_storage", "lake.s3_storage", "lake.s3_objects"),
        *("lake.hdfs_storage", "lake.hdfs_clients"),
    }
)
FILE_MODULES = frozenset(
    {
        *("pathlib", "glob", "shutil", "tempfile", "fileinput", "pyarrow.fs"),
        *("obstore", "hdfs_native"),
    }
)
FILE_CALLS = frozenset(
    {
        *("open", "io.open", "os.open", "os.fdopen", "os.listdir", "os.scandir", "os.walk"),
        *("os.stat", "os.remove", "os.unlink", "os.rename", "os.replace", "os.mkdir"),
        *("os.makedirs", "pa.OSFile", "pa.memory_map"),
    }
)


@dataclass(frozen=True)
class Module:
    """One source file, parsed."""

    name: str
    tree: ast.Module

    @property
    def room(self) -> str:
        return self.name.partition(".")[0]

    @property
    def pipeline(self) -> str | None:
        parts = self.name.split(".")
        return parts[1] if parts[0] == "pipelines" and len(parts) > 1 else None

    def imports(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module or ""
                yield from (f"{node.module}.{alias.name}" for alias in node.names)

    def calls(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield ast.unparse(node.func)


def modules_of(room: str, root: Path = ROOT) -> list[Module]:
    folder = root / ROOMS[room]
    return [
        Module(
            ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"),
            ast.parse(path.read_text("utf-8")),
        )
        for path in sorted((folder / room).rglob("*.py"))
    ]


def breaches(module: Module) -> list[str]:
    """What the module does that its room may not, one line each."""
    found = [f"{module.name} imports {name}" for name in module.imports() if not _may(module, name)]
    if module.room in ("segment_codec", "lake", "pipelines") and module.name not in OPENERS:
        found += [f"{module.name} calls {call}" for call in module.calls() if call in FILE_CALLS]
    return sorted(set(found))


def _may(module: Module, name: str) -> bool:
    room, _, rest = name.partition(".")
    if room in ROOMS and room != module.room and room not in MAY_IMPORT[module.room]:
        return False
    if room in {"airflow_dags", *DAG_MODULES} and module.room != "airflow_dags":
        return False
    if module.room == "airflow_dags" and room in NEVER_IN_DAGS:
        return False
    if module.pipeline and room == "pipelines" and rest.partition(".")[0] != module.pipeline:
        return False
    if room == "deltalake" and module.name not in COMMITTERS:
        return False
    if module.room == "segment_codec" and room in NEVER_IN_CODEC:
        return False
    is_file_module = room in FILE_MODULES or name in FILE_MODULES
    may_open = module.room in ("jobs", "airflow_dags") or module.name in OPENERS
    return may_open or not is_file_module


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_is_empty(room: str) -> None:
    assert any(module.name != room for module in modules_of(room))


@pytest.mark.parametrize("room", ROOMS)
def test_room_imports_only_what_it_may(room: str) -> None:
    assert [line for module in modules_of(room) for line in breaches(module)] == []


def test_only_the_two_committers_import_deltalake() -> None:
    importers = {
        module.name
        for module in modules_of("lake")
        if any(name.partition(".")[0] == "deltalake" for name in module.imports())
    }
    assert importers == COMMITTERS


@pytest.mark.parametrize(
    ("name", "source", "breach"),
    [
        ("segment_codec.x", "import lake.storage", "imports lake.storage"),
        ("segment_codec.x", "import time", "imports time"),
        ("lake.x", "from segment_codec import window", "imports segment_codec"),
        ("lake.x", "import deltalake", "imports deltalake"),
        ("lake.x", "from pathlib import Path", "imports pathlib"),
        ("pipelines.a.run", "from pipelines.b import run", "imports pipelines.b"),
        ("pipelines.a.run", "import jobs.cli", "imports jobs.cli"),
        ("pipelines.a.run", "with open('x') as f: pass", "calls open"),
        ("jobs.x", "from segment_codec import segment", "imports segment_codec"),
        ("jobs.x", "import airflow_dags.daily", "imports airflow_dags.daily"),
        ("jobs.x", "from seglake_lakes import Lake", "imports seglake_lakes"),
        ("airflow_dags.x", "import airflow_dags.daily", "imports airflow_dags.daily"),
        ("airflow_dags.x", "from jobs.arguments import ingest_parser", "imports jobs.arguments"),
        ("airflow_dags.x", "import segment_codec", "imports segment_codec"),
        ("airflow_dags.x", "from pyspark.sql import SparkSession", "imports pyspark.sql"),
    ],
)
def test_planted_breach_is_found(name: str, source: str, breach: str) -> None:
    assert f"{name} {breach}" in breaches(Module(name, ast.parse(source)))


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("lake.local_storage", "from pathlib import Path\nopen('x')"),
        ("lake.delta_commit", "import deltalake"),
        ("pipelines.a.run", "from pipelines.a.plan import plan\nfrom lake.storage import Storage"),
        ("jobs.x", "from pathlib import Path\nfrom pipelines.a.run import ingest\nopen('x')"),
        ("airflow_dags.x", "from pathlib import Path\nfrom seglake_lakes import Lake"),
    ],
)
def test_allowed_import_is_no_breach(name: str, source: str) -> None:
    assert breaches(Module(name, ast.parse(source))) == []
