"""HDFS on loopback: a name node and data nodes, processes of their own, to be killed one by one.

Permissions are checked: who runs the tests is the superuser, HADOOP_USER_NAME makes someone else.
"""

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from jobs.java_home import provide_java
from support.servers.hadoop_jars import hadoop_jars
from support.servers.processes import LOOPBACK, Running, ServerError, free_port, started

_NAME_NODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATA_NODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
_ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"
_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_START_SECONDS = 120
_ADMIN_SECONDS = 120
_METRICS_SECONDS = 1
_OF_DATA_NODES = {
    *("SendHeartbeat", "BlockReport", "BlockReceivedAndDeleted", "RegisterDatanode"),
    *("VersionRequest", "SendLifeline"),
}
_STATE = "Hadoop:service=NameNode,name=FSNamesystemState"


class HdfsCluster:
    """A running HDFS; it ends with the stack.

    Attributes:
        authority: host and port of the name node.
        http_port: where the name node shows its pages, and speaks no RPC.
        uri: of the root folder, without a slash at its end.
        conf: folder with core-site.xml and hdfs-site.xml, as HADOOP_CONF_DIR takes it.
        data_nodes: all that were started, the dead ones too.
    """

    def __init__(self, folder: Path, stack: ExitStack, replication: int) -> None:
        self._folder = folder
        self._stack = stack
        self._jars = hadoop_jars()
        environment = dict(os.environ)
        provide_java(environment)
        self._java = Path(environment["JAVA_HOME"], "bin", "java")
        self.http_port = free_port()
        self._port = free_port()
        self.authority = f"{LOOPBACK}:{self._port}"
        self.uri = f"hdfs://{self.authority}"
        self.conf = write_conf(folder / "conf", {"fs.defaultFS": self.uri})
        self.data_nodes: list[Running] = []
        self._server_conf = write_conf(folder / "server", self._server_properties(replication))
        metrics = self._server_conf / "hadoop-metrics2.properties"
        metrics.write_text(f"*.period={_METRICS_SECONDS}\n")
        with self._running("format", _NAME_NODE, "-format", "-nonInteractive", "-force") as format_:
            _wait_for(lambda: not format_.is_running, "the name node did not format its folder")
        self.name_node = stack.enter_context(self._running("name-node", _NAME_NODE))

    def add_data_node(self) -> Running:
        """Start a data node without waiting for it."""
        name = f"data-node-{len(self.data_nodes)}"
        place = f"dfs.datanode.data.dir=file://{self._folder / name}"
        node = self._stack.enter_context(self._running(name, _DATA_NODE, "-D", place))
        self.data_nodes.append(node)
        return node

    def wait_until_up(self) -> None:
        """Wait until the name node knows all data nodes and lets files be written."""
        self.name_node.wait_for_port(self.http_port, seconds=_START_SECONDS)
        self.name_node.wait_for_port(self._port, seconds=_START_SECONDS)
        count = len(self.data_nodes)
        _wait_for(lambda: self._is_up(count), f"{count} data nodes did not come up")

    def enter_safe_mode(self) -> None:
        self._admin("-safemode", "enter")

    def leave_safe_mode(self) -> None:
        self._admin("-safemode", "leave")

    def allow_space(self, path: str, byte_count: int) -> None:
        """Set how many bytes, replicas included, may lie below a folder."""
        self._admin("-setSpaceQuota", str(byte_count), path)

    def call_counts(self) -> dict[str, int]:
        """How often clients called each operation of the name node so far, but for data nodes."""
        time.sleep(_METRICS_SECONDS + 1)  # it counts anew no sooner
        beans = self._beans(f"Hadoop:service=NameNode,name=RpcDetailedActivityForPort{self._port}")
        found = beans[0] if beans else {}
        calls = {
            name.removesuffix("NumOps"): int(str(value))
            for name, value in found.items()
            if name.endswith("NumOps") and not name.startswith("Overall")
        }
        return {name: count for name, count in calls.items() if name not in _OF_DATA_NODES}

    def _is_up(self, count: int) -> bool:
        try:
            state = self._beans(_STATE)
        except OSError:
            return False
        return bool(state) and (
            state[0]["NumLiveDataNodes"] == count and state[0]["FSState"] == "Operational"
        )

    def _beans(self, name: str) -> list[dict[str, object]]:
        """What the name node tells of itself."""
        address = f"http://{LOOPBACK}:{self.http_port}/jmx?qry={name}"
        with urllib.request.urlopen(address, timeout=10) as answer:
            beans: list[dict[str, object]] = json.load(answer)["beans"]
        return beans

    def _admin(self, *arguments: str) -> None:
        command = [*self._command(_ADMIN), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ADMIN_SECONDS)
        if done.returncode:
            raise ServerError(f"{' '.join(arguments)}: {done.stdout} {done.stderr}")

    @contextmanager
    def _running(self, name: str, *command: str) -> Iterator[Running]:
        log = self._folder / f"{name}.log"
        with started([*self._command(command[0]), *command[1:]], log=log) as running:
            yield running

    def _command(self, main_class: str) -> list[str | Path]:
        class_path = f"{self._server_conf}:{self._jars}/*"
        return [self._java, *_JVM, "-Djava.net.preferIPv4Stack=true", "-cp", class_path, main_class]

    def _server_properties(self, replication: int) -> dict[str, str]:
        any_port = f"{LOOPBACK}:0"
        return {
            "fs.defaultFS": self.uri,
            "hadoop.tmp.dir": str(self._folder / "tmp"),
            "dfs.replication": str(replication),
            "dfs.permissions.enabled": "true",
            "dfs.namenode.rpc-bind-host": LOOPBACK,
            "dfs.namenode.http-address": f"{LOOPBACK}:{self.http_port}",
            "dfs.namenode.name.dir": f"file://{self._folder / 'names'}",
            "dfs.namenode.safemode.extension": "0",
            "dfs.namenode.fs-limits.min-block-size": "1024",  # a small file may have many blocks
            "dfs.namenode.avoid.write.stale.datanode": "true",
            "dfs.namenode.stale.datanode.interval": "10000",  # milliseconds
            "dfs.webhdfs.enabled": "false",
            "dfs.datanode.address": any_port,
            "dfs.datanode.http.address": any_port,
            "dfs.datanode.ipc.address": any_port,
            "dfs.datanode.hostname": LOOPBACK,
            "dfs.client.use.datanode.hostname": "true",
        }


@contextmanager
def hdfs_cluster(
    folder: Path, *, data_node_count: int = 1, replication: int = 1
) -> Iterator[HdfsCluster]:
    """Start HDFS with its files and logs in `folder`; it ends with the block."""
    with ExitStack() as stack:
        cluster = HdfsCluster(folder, stack, replication)
        for _ in range(data_node_count):
            cluster.add_data_node()
        cluster.wait_until_up()
        yield cluster


def write_conf(folder: Path, properties: Mapping[str, str]) -> Path:
    """Write a folder that HADOOP_CONF_DIR may name; those with `dfs.` go to hdfs-site.xml."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, is_there in (("core-site.xml", False), ("hdfs-site.xml", True)):
        own = {name: v for name, v in properties.items() if name.startswith("dfs.") is is_there}
        lines = [f"<property><name>{n}</name><value>{v}</value></property>" for n, v in own.items()]
        text = "\n".join(["<configuration>", *lines, "</configuration>"])
        (folder / file).write_text(f'<?xml version="1.0"?>\n{text}\n')
    return folder


def _wait_for(is_done: Callable[[], bool], problem: str) -> None:
    end = time.monotonic() + _START_SECONDS
    while not is_done():
        if time.monotonic() > end:
            raise ServerError(problem)
        time.sleep(0.1)
