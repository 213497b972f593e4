"""Virtual environments with other versions than ours, made once by pip in build/tools/versions."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
RELEASES = ("3.5", "4.0", "4.1", "4.2", "4.3")
"""The releases of Spark that seglake runs on, the newest last."""

_FOLDER = ROOT / "build" / "tools" / "versions"
_READY = ".ready"


def with_spark(release: str) -> Path:
    """Return the Python of an environment with a release of Spark, and all else of ours."""
    python = _made(f"spark-{release}", [[f"pyspark=={release}.*"]])
    ours = python.parents[1] / "lib" / f"python{_minor()}" / "site-packages" / "ours.pth"
    ours.write_text(f"{sysconfig.get_path('purelib')}\n")  # after its own packages
    return python


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


def distribution(folder: Path, python: Path) -> Path:
    """Lay out the Spark of an environment as its distribution is, and return SPARK_HOME."""
    package = Path(said(python, "-c", "import pyspark; print(pyspark.__path__[0])"))
    home = folder / "spark"
    home.mkdir(parents=True)
    for part in ("bin", "sbin", "jars"):
        (home / part).symlink_to(package / part)
    left_out = shutil.ignore_patterns("bin", "sbin", "jars", "python", "__pycache__")
    shutil.copytree(package, home / "python" / "pyspark", ignore=left_out)
    shutil.copytree(package / "python" / "lib", home / "python" / "lib")  # of Spark's workers
    return home


def said(python: Path, *arguments: str) -> str:
    """Return what a Python prints, without the last line break."""
    command = [str(python), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=_environment())
    return done.stdout.rstrip("\n")


def seglake(
    python: Path, *arguments: str, home: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command of seglake to its end, as it is in the checkout."""
    spark = {} if home is None else {"SPARK_HOME": str(home)}
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
    package = Path(said(python, "-c", "import pyspark; print(pyspark.__path__[0])"))
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


def _made(name: str, installs: Sequence[Sequence[str]]) -> Path:
    """Return the Python of an environment; pip installs one list after the other."""
    folder = _FOLDER / name
    python = folder / "bin" / "python"
    has_seglake = any(str(ROOT) in wanted for wanted in installs)
    project = (ROOT / "pyproject.toml").read_text("utf-8") if has_seglake else ""
    asked = f"{installs}\n{project}"
    ready = folder / _READY
    if not (ready.exists() and ready.read_text("utf-8") == asked):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        for wanted in (["setuptools", "wheel"], *installs):
            subprocess.run(
                [str(python), "-m", "pip", "install", "--quiet", *wanted],
                check=True,
                env=_environment(),
            )
        ready.write_text(asked, "utf-8")
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
