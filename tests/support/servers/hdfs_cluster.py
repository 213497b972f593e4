"""HDFS on loopback: a name node and data nodes, processes of their own, to be killed one by one.

Permissions are checked: who runs the tests is the superuser, HADOOP_USER_NAME makes someone else.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support.servers.hadoop_programs import (
    DATA_NODE,
    NAME_NODE,
    START_SECONDS,
    HadoopPrograms,
    beans,
    is_up,
    wait_for,
    write_conf,
)
from support.servers.processes import LOOPBACK, Running, free_port

_ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"
_CODING = "org.apache.hadoop.hdfs.tools.ECAdmin"
_METRICS_SECONDS = 1
_OF_DATA_NODES = {
    *("SendHeartbeat", "BlockReport", "BlockReceivedAndDeleted", "RegisterDatanode"),
    *("VersionRequest", "SendLifeline"),
}


class HdfsCluster:
    """A running HDFS; it ends with the stack.

    Attributes:
        authority: host and port of the name node.
        http_port: where the name node shows its pages, and speaks no RPC.
        uri: of the root folder, without a slash at its end.
        properties: what a client needs to know.
        conf: folder with core-site.xml and hdfs-site.xml, as HADOOP_CONF_DIR takes it.
        data_nodes: all that were started, the dead ones too.
    """

    def __init__(self, folder: Path, stack: ExitStack, settings: Mapping[str, str]) -> None:
        self._folder = folder
        self._stack = stack
        self.http_port = free_port()
        self._port = free_port()
        self.authority = f"{LOOPBACK}:{self._port}"
        self.uri = f"hdfs://{self.authority}"
        self.properties = {"fs.defaultFS": self.uri}
        self.conf = write_conf(folder / "conf", self.properties)
        self.data_nodes: list[Running] = []
        self._programs = HadoopPrograms(folder, self._server_properties(settings))
        metrics = self._programs.conf / "hadoop-metrics2.properties"
        metrics.write_text(f"*.period={_METRICS_SECONDS}\n")
        self._programs.format_names()
        self.name_node = stack.enter_context(self._programs.running("name-node", NAME_NODE))

    def add_data_node(self) -> Running:
        """Start a data node without waiting for it."""
        name = f"data-node-{len(self.data_nodes)}"
        place = f"dfs.datanode.data.dir=file://{self._folder / name}"
        node = self._stack.enter_context(self._programs.running(name, DATA_NODE, "-D", place))
        self.data_nodes.append(node)
        return node

    def wait_until_up(self) -> None:
        """Wait until the name node knows all data nodes and lets files be written."""
        self.name_node.wait_for_port(self.http_port, seconds=START_SECONDS)
        self.name_node.wait_for_port(self._port, seconds=START_SECONDS)
        count = len(self.data_nodes)
        wait_for(lambda: is_up(self.http_port, count), f"{count} data nodes did not come up")

    def enter_safe_mode(self) -> None:
        self._programs.run_tool(_ADMIN, "-safemode", "enter")

    def leave_safe_mode(self) -> None:
        self._programs.run_tool(_ADMIN, "-safemode", "leave")

    def allow_space(self, path: str, byte_count: int) -> None:
        """Set how many bytes, replicas included, may lie below a folder."""
        self._programs.run_tool(_ADMIN, "-setSpaceQuota", str(byte_count), path)

    def code(self, path: str, policy: str) -> None:
        """Let the files below a folder be erasure-coded."""
        self._programs.run_tool(_CODING, "-enablePolicy", "-policy", policy)
        self._programs.run_tool(_CODING, "-setPolicy", "-path", path, "-policy", policy)

    def call_counts(self) -> dict[str, int]:
        """Return the number of clients' calls to the name node so far, by operation."""
        time.sleep(_METRICS_SECONDS + 1)  # it counts anew no sooner
        answer = beans(
            self.http_port, f"Hadoop:service=NameNode,name=RpcDetailedActivityForPort{self._port}"
        )
        found = answer[0] if answer else {}
        calls = {
            name.removesuffix("NumOps"): int(str(value))
            for name, value in found.items()
            if name.endswith("NumOps") and not name.startswith("Overall")
        }
        return {name: count for name, count in calls.items() if name not in _OF_DATA_NODES}

    def _server_properties(self, settings: Mapping[str, str]) -> dict[str, str]:
        return {
            "fs.defaultFS": self.uri,
            "dfs.permissions.enabled": "true",
            "dfs.namenode.http-address": f"{LOOPBACK}:{self.http_port}",
            "dfs.namenode.name.dir": f"file://{self._folder / 'names'}",
            "dfs.namenode.fs-limits.min-block-size": "1024",  # a small file may have many blocks
            "dfs.namenode.avoid.write.stale.datanode": "true",
            "dfs.namenode.stale.datanode.interval": "10000",  # milliseconds
            **settings,
        }


@contextmanager
def hdfs_cluster(
    folder: Path,
    *,
    data_node_count: int = 1,
    replication: int = 1,
    settings: Mapping[str, str] | None = None,
) -> Iterator[HdfsCluster]:
    """Start HDFS with its files and logs in `folder`; it ends with the block.

    Args:
        settings: more of its servers.
    """
    with ExitStack() as stack:
        every = {"dfs.replication": str(replication), **(settings or {})}
        cluster = HdfsCluster(folder, stack, every)
        for _ in range(data_node_count):
            cluster.add_data_node()
        cluster.wait_until_up()
        yield cluster
