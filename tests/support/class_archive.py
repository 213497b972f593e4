"""Spark's classes as a JVM keeps them: another that starts from them needs half the time.

The archive is made once for a Java and a Spark, and kept in build/class-archive. Each JVM checks
whether it fits, and goes on without it if not.
"""

import fcntl
import functools
import os
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

import pyspark

from seglake.environment.java_home import provide_java

_FOLDER = Path(__file__).parents[2] / "build" / "class-archive"
_JARS = Path(pyspark.__file__).parent / "jars"
CLASS_PATH = f"{_JARS}/*"
"""Begins the class path of a JVM that uses the archive: with a folder before it, none can."""

# A session as tests have it: a task in Python, a table written, read and joined.
_SESSION = """
import sys
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[2]").getOrCreate()
session.sparkContext.parallelize([1], 1).map(str).collect()
session.range(10).selectExpr("id", "id % 3 AS a").write.partitionBy("a").parquet(sys.argv[1])
session.read.parquet(sys.argv[1]).createOrReplaceTempView("t")
session.sql("SELECT a, count(*) FROM t JOIN t AS u USING (a) GROUP BY a ORDER BY a").collect()
java = session.sparkContext._gateway.proc
session.stop()
java.stdin.close()
java.wait()
"""


def class_archive() -> Path | None:
    """Return the archive's path, if it has been made."""
    path = _path()
    return path if path.exists() else None


def make_class_archive(java_options: str, properties: str) -> None:
    """Make the archive if there is none; whoever finds another at it goes on without.

    Args:
        java_options: of all JVMs that will use it.
        properties: text of spark-defaults.conf for the session whose classes it gets.
    """
    path = _path()
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if not path.exists():
            for stale in _FOLDER.glob("*.jsa"):
                stale.unlink()
            _make(path, java_options, properties)


def _make(path: Path, java_options: str, properties: str) -> None:
    with tempfile.TemporaryDirectory(dir=_FOLDER) as scratch:
        made = Path(scratch, "classes.jsa")
        (Path(scratch) / "spark-defaults.conf").write_text(properties, "utf-8")
        environment = os.environ | {
            "SPARK_CONF_DIR": scratch,
            "SPARK_SUBMIT_OPTS": f"{java_options} -XX:ArchiveClassesAtExit={made}",
        }
        provide_java(environment)
        command = [sys.executable, "-c", _SESSION, str(Path(scratch, "table"))]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        made.touch()  # a Java that cannot make one is not asked again, and takes no empty one
        made.rename(path)


@functools.cache
def _path() -> Path:
    facts = [provide_java({**os.environ}), _JARS, _JARS.stat().st_mtime_ns]
    return _FOLDER / f"{sha256(repr(facts).encode()).hexdigest()[:16]}.jsa"
