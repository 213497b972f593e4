"""A Spark Connect server on loopback, as `sbin/start-connect-server.sh` starts it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seglake.environment.java_home import provide_java
from seglake.environment.spark_home import spark_build
from support.other_versions import ROOT, said, spark_package
from support.servers.maven_jars import maven_jars
from support.servers.processes import LOOPBACK, free_port, started

_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_SECONDS = 120


@contextmanager
def connect_server(python: Path, folder: Path, *, has_delta: bool = True) -> Iterator[str]:
    """Run a server while the block lasts; yield its URL.

    Args:
        python: of an environment with a Spark, and seglake's packages.
        folder: for its log and its warehouse.
        has_delta: whether there is a Delta for its Spark; the server has it then.
    """
    package = spark_package(python)
    port = free_port()
    properties = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
    }
    jars = _own_jars(package)
    if has_delta:
        properties |= _DELTA
        found = said(python, "-m", "seglake.environment.delta_jars", libs=ROOT / "libs")
        jars += map(Path, found.split(os.pathsep))
    own = {"PYTHONPATH": str(ROOT / "libs"), "PYSPARK_PYTHON": str(python)}
    java = dict(os.environ)
    provide_java(java)
    options = [part for each in properties.items() for part in ("--conf", "=".join(each))]
    submit = str(package / "bin" / "spark-submit")
    command = [submit, "--master", "local[2]", "--class", _SERVER]
    with started(
        [*command, "--jars", ",".join(map(str, jars)), *options],
        log=folder / "connect.log",
        environment={**java, **own, "SPARK_HOME": str(package), "SPARK_LOCAL_IP": LOOPBACK},
        folder=folder,
    ) as server:
        server.wait_for_port(port, seconds=_SECONDS)
        yield f"sc://{LOOPBACK}:{port}"


def _own_jars(package: Path) -> list[Path]:
    """Return the JARs of the server that a Spark does not bring itself; from 4.0 on there are none.

    As `start-connect-server.sh --packages` would fetch them.
    """
    build = spark_build(package)
    if build is None or any((package / "jars").glob("spark-connect_*.jar")):
        return []
    artifact = f"org.apache.spark:spark-connect_{build.scala}:{build.version}"
    folder = maven_jars(f"spark-connect-{build.version}", [artifact], alone=True)
    return sorted(folder.glob("*.jar"))
