"""A Spark older than the product's, for extensions that have no version for that one yet."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from seglake.environment.java_home import provide_java
from support.archives import unpack

_ROOT = Path(__file__).parents[3]
_NAME = "pyspark-4.1.1"
_PINNED = (
    "pyspark==4.1.1"
    " --hash=sha256:77f78984aa84fbe865c717dd37b49913b4e5c97d76ef6824f932f1aefa6621ec\n"
)
_OPTIONS = ("--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation")
_WANTED = tuple(f"{_NAME}/{part}/" for part in ("pyspark", "deps/bin", "deps/jars"))


def earlier_spark() -> dict[str, str]:
    """The variables with which this Python is one that has it; it is fetched if it is not there."""
    folder = _ROOT / "build" / "tools" / _NAME
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{_NAME}-", dir=folder.parent) as scratch:
            _fetch_into(Path(scratch)).rename(folder)
    variables = {**os.environ}
    provide_java(variables)
    return {
        **variables,
        "SPARK_HOME": str(folder / "deps"),
        "PYTHONPATH": str(folder),
        "PYSPARK_PYTHON": sys.executable,
    }


def _fetch_into(scratch: Path) -> Path:
    pins = scratch / "requirements.txt"
    pins.write_text(_PINNED)
    command = [sys.executable, "-m", "pip", "download", *_OPTIONS, "-r", str(pins)]
    subprocess.run([*command, "--dest", str(scratch)], check=True)
    unpack(scratch / f"{_NAME}.tar.gz", scratch, _WANTED)
    return scratch / _NAME
