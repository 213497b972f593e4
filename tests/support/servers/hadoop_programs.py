"""Starts Hadoop's programs with one configuration: name nodes, data nodes, or both at once."""

import json
import os
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pyspark

from seglake.environment.java_home import provide_java
from support.servers.hadoop_jars import hadoop_jars
from support.servers.hadoop_machine import MAIN_CLASS, HadoopMachine, hadoop_machine
from support.servers.processes import LOOPBACK, Running, ServerError, started

NAME_NODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATA_NODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
START_SECONDS = 120
_JVM = (
    *("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
)
_GATEWAY = Path(pyspark.__file__).parent / "jars"  # has py4j, for the machine
_STATE = "Hadoop:service=NameNode,name=FSNamesystemState"
_ANY_PORT = f"{LOOPBACK}:0"
_ON_LOOPBACK = {
    "dfs.namenode.rpc-bind-host": LOOPBACK,
    "dfs.namenode.safemode.extension": "0",
    "dfs.webhdfs.enabled": "false",
    "dfs.datanode.address": _ANY_PORT,
    "dfs.datanode.http.address": _ANY_PORT,
    "dfs.datanode.ipc.address": _ANY_PORT,
    "dfs.datanode.hostname": LOOPBACK,
    "dfs.client.use.datanode.hostname": "true",
}


class HadoopPrograms:
    """Programs whose files and logs lie in one folder.

    Attributes:
        conf: folder with the configuration of all of them.
    """

    def __init__(self, folder: Path, properties: Mapping[str, str]) -> None:
        self._folder = folder
        self._jars = hadoop_jars()
        environment = dict(os.environ)
        provide_java(environment)
        self._java = Path(environment["JAVA_HOME"], "bin", "java")
        tmp = {"hadoop.tmp.dir": str(folder / "tmp")}
        self.conf = write_conf(folder / "server", {**_ON_LOOPBACK, **tmp, **properties})

    @contextmanager
    def running(
        self, name: str, main_class: str, properties: Mapping[str, str]
    ) -> Iterator[Running]:
        """Run a program, with some properties of its own, until the block ends."""
        own = [part for item in properties.items() for part in ("-D", "=".join(item))]
        log = self._folder / f"{name}.log"
        with started([*self._command(main_class), *own], log=log) as running:
            yield running

    def machine(self) -> AbstractContextManager[HadoopMachine]:
        """Run a machine for parts and tools."""
        return hadoop_machine(self._command(MAIN_CLASS), self._folder / "machine.log")

    def _command(self, main_class: str) -> list[str | Path]:
        (gateway,) = _GATEWAY.glob("py4j-*.jar")
        class_path = f"{self.conf}:{self._jars}/*:{gateway}"
        return [self._java, *_JVM, "-Djava.net.preferIPv4Stack=true", "-cp", class_path, main_class]


def is_up(http_port: int, data_node_count: int) -> bool:
    """Return whether a name node knows its data nodes and, if active, has left safe mode."""
    try:
        state = beans(http_port, _STATE)
    except OSError:
        return False
    return bool(state) and (
        state[0]["NumLiveDataNodes"] == data_node_count and state[0]["FSState"] == "Operational"
    )


def beans(http_port: int, name: str) -> list[dict[str, object]]:
    """Return the metrics of a name node, as its web server shows them."""
    address = f"http://{LOOPBACK}:{http_port}/jmx?qry={name}"
    with urllib.request.urlopen(address, timeout=10) as answer:
        found: list[dict[str, object]] = json.load(answer)["beans"]
    return found


def write_conf(folder: Path, properties: Mapping[str, str]) -> Path:
    """Write a folder that HADOOP_CONF_DIR may name; those with `dfs.` go to hdfs-site.xml."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, is_there in (("core-site.xml", False), ("hdfs-site.xml", True)):
        own = {name: v for name, v in properties.items() if name.startswith("dfs.") is is_there}
        lines = [f"<property><name>{n}</name><value>{v}</value></property>" for n, v in own.items()]
        text = "\n".join(["<configuration>", *lines, "</configuration>"])
        (folder / file).write_text(f'<?xml version="1.0"?>\n{text}\n')
    return folder


def wait_for(is_done: Callable[[], bool], problem: str) -> None:
    """Wait for as long as a server may take to start."""
    end = time.monotonic() + START_SECONDS
    while not is_done():
        if time.monotonic() > end:
            raise ServerError(problem)
        time.sleep(0.1)
