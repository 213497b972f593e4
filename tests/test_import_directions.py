"""Imports point one way, and what only one module may touch, only one module touches.

The picture stands in CONTRIBUTING.md, "Rooms": what a log is lies below what a run does with it.
"""

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBS = ROOT / "libs"

_LIBRARIES = frozenset(
    {
        *("kafka_log", "lake", "log_dirs", "log_tables", "proof"),
        *("segment_decoding", "storage", "task_engine", "value_codec", "value_decoding"),
    }
)
_CALLED = frozenset({"commands", "catalog_commands", "erase_commands", "latest_commands"})
_COMMON = frozenset(
    {
        *("errors", "findings", "grouping", "near_names", "printable", "progress", "settings"),
        "spark_features",
    }
)
_STEPS = _LIBRARIES | _COMMON | {"segment_codec"}
# They are made of the steps of an ingest.
_OF_STEPS = frozenset(
    f"pipelines.{name}"
    for name in (
        *("segment_ingest", "lake_replay", "lake_retake", "segment_query", "lake_erase"),
        "lake_maintenance",
    )
)
_PIPELINES = _OF_STEPS | {
    *("pipelines.lake_audit", "pipelines.lake_report"),
    *("pipelines.segment_inspect", "pipelines.lake_query", "pipelines.record_print"),
    *("pipelines.lake_deserialize", "pipelines.lake_schemas", "pipelines.lake_latest"),
}
# Of each room below `seglake`, the others that it may import.
MAY_IMPORT: Mapping[str, frozenset[str]] = {
    "compiled_loops": frozenset(),
    "errors": frozenset({"printable"}),
    "grouping": frozenset(),
    "near_names": frozenset(),
    "printable": frozenset(),
    "spark_features": frozenset(),
    "segment_codec": frozenset({"compiled_loops"}),
    "value_codec": frozenset({"compiled_loops"}),
    "storage": frozenset({"errors"}),
    "task_engine": frozenset({"errors"}),
    "kafka_log": frozenset({"grouping", "segment_codec"}),
    "lake": frozenset({"errors", "storage", "version"}),
    "log_dirs": frozenset(
        {"errors", "grouping", "kafka_log", "segment_codec", "storage", "task_engine"}
    ),
    "proof": frozenset({"errors", "lake", "spark_features"}),
    "log_tables": frozenset(
        {
            *("errors", "grouping", "kafka_log", "lake", "near_names", "segment_codec"),
            *("storage", "value_codec"),
        }
    ),
    "segment_decoding": _LIBRARIES - {"segment_decoding", "value_decoding"} | {"segment_codec"},
    "value_decoding": frozenset({"lake", "storage", "value_codec"}),
    "progress": frozenset({"printable", "task_engine"}),
    "settings": frozenset({"errors", "kafka_log", "near_names"}),
    "findings": frozenset(
        {"errors", "grouping", "kafka_log", "printable", "segment_codec", "settings"}
    ),
    "ingest_steps": _STEPS,
    **dict.fromkeys(_PIPELINES, _STEPS),
    **dict.fromkeys(_OF_STEPS, _STEPS | {"ingest_steps"}),
    "environment": frozenset({"storage", "task_engine", "segment_codec", "value_codec"} | _COMMON),
    "spark_source": frozenset(
        {"environment", "pipelines.segment_query", "segment_decoding"} | _COMMON
    ),
    "run_records": frozenset({"lake", "version"} | _COMMON),
    "commands": _PIPELINES
    | {"ingest_steps"}
    | _COMMON
    | {"environment", "lake", "storage", "task_engine"},
    "catalog_commands": _PIPELINES | _COMMON | {"environment", "lake", "storage"},
    "erase_commands": _PIPELINES | _COMMON | {"commands"},
    "latest_commands": _PIPELINES | _COMMON | {"environment"},
    "api": _PIPELINES | {"ingest_steps"} | _COMMON | _CALLED | {"environment", "lake", "storage"},
    "cli": _PIPELINES
    | {"ingest_steps"}
    | _COMMON
    | _CALLED
    | {"environment", "kafka_log", "proof", "run_records", "version"},
    "__main__": frozenset({"cli"}),
    "seglake": frozenset({"api", "errors", "version"}),
    "version": frozenset(),
}
# Airflow has its dags folder on the path, not what it lies in.
DAG_MODULES = frozenset(path.stem for path in (ROOT / "airflow_dags").glob("*.py"))
NEVER_IN_DAGS = frozenset({"airflow_dags", "seglake", "pyspark", "pyarrow", "deltalake", "numpy"})
NEVER_IN_CODEC = frozenset(
    {"pyspark", "pyarrow", "deltalake", "logging", "time", "datetime", "pathlib", "os", "io"}
)
# Of Arrow, `value_codec` uses types, arrays and functions in memory.
ARROW_IN_MEMORY = frozenset({"pyarrow", "pyarrow.compute"})
# Of each part of `segment_codec`, and of what lies beside them, the parts that it may import.
CODEC_PARTS: Mapping[str, frozenset[str]] = {
    "formats": frozenset({"formats"}),
    "kernels": frozenset({"formats", "kernels"}),
    "walk": frozenset({"formats", "kernels", "walk"}),
    "warm": frozenset({"formats", "kernels", "walk"}),
}
COMMITTERS = frozenset(
    f"seglake.lake.{name}"
    for name in ("delta_tables", "table_changes", "table_commit", "table_creation", "vacuum")
)
OPENERS = frozenset(
    f"seglake.storage.{name}"
    for name in ("local_storage", "s3_storage", "s3_objects", "hdfs_storage", "hdfs_clients")
) | {
    "seglake.task_engine.task_progress",  # a scratch file of this machine
    "seglake.value_codec.protobuf.compiler",  # protoc reads files only
}
# Rooms that meet the machine itself: its environment, its processes, its terminal.
_OUTER = _CALLED | {"environment", "run_records", "cli", "api", "__main__", "seglake"}
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
    """One source file; it is parsed when a test asks, since each worker collects all tests."""

    name: str
    source: str

    @property
    def tree(self) -> ast.Module:
        return _parsed(self.source)

    @property
    def room(self) -> str:
        return room_of(self.name)

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


def room_of(name: str) -> str:
    """The room of a module or of something in one; DAGs and others are their own."""
    package, *rest = name.split(".")
    if package != "seglake":
        return "airflow_dags" if package in DAG_MODULES else package
    if rest[:1] == ["pipelines"]:
        return ".".join(rest[:2])
    return rest[0] if rest and (rest[0] in MAY_IMPORT) else "seglake"


@functools.cache
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def modules_of(folder: Path, root: Path) -> list[Module]:
    return [
        Module(
            ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"),
            path.read_text("utf-8"),
        )
        for path in sorted(folder.rglob("*.py"))
    ]


PRODUCT = modules_of(LIBS / "seglake", LIBS)
DAGS = modules_of(ROOT / "airflow_dags", ROOT)


def breaches(module: Module) -> list[str]:
    """What the module does that its room may not, one line each."""
    found = [f"{module.name} imports {name}" for name in module.imports() if not _may(module, name)]
    if module.room not in _OUTER | {"airflow_dags"} and module.name not in OPENERS:
        found += [f"{module.name} calls {call}" for call in module.calls() if call in FILE_CALLS]
    return sorted(set(found))


def _may(module: Module, name: str) -> bool:
    room, package = room_of(name), name.partition(".")[0]
    if module.room == "airflow_dags":
        return package not in NEVER_IN_DAGS
    if package in {"airflow_dags", *DAG_MODULES}:
        return False
    if name in ("seglake", "seglake.pipelines"):  # what is taken from them is judged by itself
        return True
    if package == "seglake" and room != module.room and room not in MAY_IMPORT[module.room]:
        return False
    if package == "deltalake" and module.name not in COMMITTERS:
        return False
    if (
        module.room == room == "segment_codec"
        and _part(name) not in CODEC_PARTS[_part(module.name)]
    ):
        return False
    is_pure = module.room in ("segment_codec", "value_codec") and module.name not in OPENERS
    if is_pure and package in NEVER_IN_CODEC:
        return module.room == "value_codec" and _is_arrow_in_memory(name)
    is_file_module = package in FILE_MODULES or name in FILE_MODULES
    return module.room in _OUTER or module.name in OPENERS or not is_file_module


def _is_arrow_in_memory(name: str) -> bool:
    return name in ARROW_IN_MEMORY or name.rpartition(".")[0] == "pyarrow.compute"


def _part(name: str) -> str:
    """The folder of a room that a module lies in, or the module itself beside them."""
    return name.split(".")[2] if name.count(".") > 1 else ""


def test_every_part_of_the_codec_is_known() -> None:
    parts = {_part(module.name) for module in PRODUCT if module.room == "segment_codec"}
    assert parts - {""} == set(CODEC_PARTS)


def test_every_module_has_a_room_and_no_room_is_empty() -> None:
    faces = {"seglake.pipelines"}
    rooms = {module.room for module in PRODUCT if module.name not in faces}
    assert rooms == set(MAY_IMPORT)


def test_rooms_stand_above_what_they_import() -> None:
    assert [*TopologicalSorter(MAY_IMPORT).static_order()]  # a circle would raise


@pytest.mark.parametrize("room", sorted([*MAY_IMPORT, "airflow_dags"]))
def test_room_imports_only_what_it_may(room: str) -> None:
    own = [module for module in (*PRODUCT, *DAGS) if module.room == room]
    assert [line for module in own for line in breaches(module)] == []


def test_job_files_know_the_commands_only() -> None:
    imported = {name for job in modules_of(ROOT / "jobs", ROOT) for name in job.imports()}
    assert {room_of(name) for name in imported if name.startswith("seglake")} == {"cli"}


@pytest.mark.parametrize("room", sorted({module.room for module in PRODUCT} - {"seglake"}))
def test_folders_of_a_room_stand_above_what_they_import(room: str) -> None:
    """Each folder in a room, and each module beside them, imports only what stands below it."""
    names = {module.name for module in PRODUCT}
    prefix = f"seglake.{room}"
    below: dict[str, set[str]] = {}
    for module in PRODUCT:
        if module.room == room and module.name != prefix:
            part = module.name.removeprefix(f"{prefix}.").partition(".")[0]
            targets = {name for name in module.imports() if name in names}
            parts = {
                target.removeprefix(f"{prefix}.").partition(".")[0]
                for target in targets
                if target.startswith(f"{prefix}.")
            }
            below.setdefault(part, set()).update(parts - {part})
    floors: dict[str, int] = {}
    for part in TopologicalSorter(below).static_order():  # a circle would raise
        floors[part] = 1 + max((floors[other] for other in below.get(part, ())), default=0)
    folders = {part for part in below if (LIBS / Path(*prefix.split(".")) / part).is_dir()}
    if folders:
        assert max(floors.values()) <= 8


def test_only_committers_import_deltalake() -> None:
    importers = {
        module.name
        for module in PRODUCT
        if any(name.partition(".")[0] == "deltalake" for name in module.imports())
    }
    assert importers == COMMITTERS


def test_our_own_log_has_nothing_above_debug() -> None:
    """What a person should know is a finding, a notice or an exception, never a log line."""
    calls = {call for module in PRODUCT for call in module.calls() if call.startswith("_LOG.")}
    assert calls == {"_LOG.debug", "_LOG.isEnabledFor"}


_CODEC = "seglake.segment_codec"
_RETAKE = "seglake.pipelines.lake_retake.retake"
_IN_INGEST = "seglake.pipelines.segment_ingest.x"


@pytest.mark.parametrize(
    ("name", "source", "breach"),
    [
        ("seglake.segment_codec.x", "import seglake.storage.storage", "seglake.storage.storage"),
        ("seglake.segment_codec.x", "import time", "time"),
        ("seglake.segment_codec.x", "import pyarrow", "pyarrow"),
        ("seglake.value_codec.x", "import pyarrow.parquet", "pyarrow.parquet"),
        ("seglake.value_codec.x", "from pyarrow import fs", "pyarrow.fs"),
        ("seglake.kafka_log.x", "from seglake.log_tables import y", "seglake.log_tables"),
        (
            "seglake.lake.x",
            "from seglake.segment_codec.walk import window",
            "seglake.segment_codec.walk",
        ),
        ("seglake.lake.x", "import deltalake", "deltalake"),
        ("seglake.lake.x", "from pathlib import Path", "pathlib"),
        (
            _IN_INGEST,
            "from seglake.pipelines.lake_audit import run",
            "seglake.pipelines.lake_audit",
        ),
        (_IN_INGEST, "import seglake.cli.main", "seglake.cli.main"),
        (_IN_INGEST, f"from {_RETAKE} import retake", _RETAKE),
        (
            "seglake.cli.x",
            "from seglake.segment_codec.formats import codec",
            "seglake.segment_codec.formats",
        ),
        (f"{_CODEC}.formats.x", f"from {_CODEC}.kernels import columns", f"{_CODEC}.kernels"),
        (f"{_CODEC}.kernels.x", f"import {_CODEC}.walk.window", f"{_CODEC}.walk.window"),
        (f"{_CODEC}.formats.x", f"import {_CODEC}.warm", f"{_CODEC}.warm"),
        ("seglake.cli.x", "import airflow_dags.daily", "airflow_dags.daily"),
        ("seglake.cli.x", "from seglake_lakes import Lake", "seglake_lakes"),
        ("seglake_job", "import airflow_dags.daily", "airflow_dags.daily"),
        ("seglake_job", "from seglake.cli.arguments import x", "seglake.cli.arguments"),
        ("seglake_job", "from pyspark.sql import SparkSession", "pyspark.sql"),
    ],
)
def test_planted_breach_is_found(name: str, source: str, breach: str) -> None:
    assert f"{name} imports {breach}" in breaches(Module(name, source))


def test_planted_file_is_found() -> None:
    assert breaches(Module(_IN_INGEST, "with open('x') as f: pass")) == [f"{_IN_INGEST} calls open"]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("seglake.storage.local_storage", "from pathlib import Path\nopen('x')"),
        ("seglake.lake.table_commit", "import deltalake"),
        (_IN_INGEST, "from seglake.storage.storage import Storage\nfrom seglake import errors"),
        ("seglake.cli.x", "from pathlib import Path\nopen('x')"),
        ("seglake_job", "from pathlib import Path\nfrom seglake_lakes import Lake"),
    ],
)
def test_allowed_import_is_no_breach(name: str, source: str) -> None:
    assert breaches(Module(name, source)) == []
