"""HDFS on loopback: a name node and data nodes, in one process or in processes to be killed.

Permissions are checked: who runs the tests is the superuser, HADOOP_USER_NAME makes someone else.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support.servers.hadoop_programs import (
    DATA_NODE,
    NAME_NODE,
    HadoopPrograms,
    beans,
    is_up,
    wait_for,
    write_conf,
)
from support.servers.processes import LOOPBACK, Running, free_port

_ADMIN, _CODING = "DFSAdmin", "ECAdmin"
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
        nodes: the processes, the name node first; none if all of it is one process.
    """

    def __init__(
        self, folder: Path, stack: ExitStack, settings: Mapping[str, str], *, is_one_process: bool
    ) -> None:
        self._folder = folder
        self._stack = stack
        self.http_port = free_port()
        self._port = free_port()
        self.authority = f"{LOOPBACK}:{self._port}"
        self.uri = f"hdfs://{self.authority}"
        self.properties = {"fs.defaultFS": self.uri}
        self.conf = write_conf(folder / "conf", self.properties)
        self.nodes: list[Running] = []
        self._programs = HadoopPrograms(folder, self._server_properties(settings))
        metrics = self._programs.conf / "hadoop-metrics2.properties"
        metrics.write_text(f"*.period={_METRICS_SECONDS}\n")
        self._machine = stack.enter_context(self._programs.machine())
        self._machine.format_names({})
        self._is_one_process = is_one_process
        if is_one_process:
            self._machine.start_name_node()
        else:
            self._start("name-node", NAME_NODE, {})

    def start_data_nodes(self, count: int) -> None:
        """Start data nodes and wait until the name node knows them and lets files be written."""
        for name in (f"data-node-{number}" for number in range(count)):
            place = {"dfs.datanode.data.dir": f"file://{self._folder / name}"}
            if self._is_one_process:
                self._machine.start_data_node(place)
            else:
                self._start(name, DATA_NODE, place)
        wait_for(lambda: is_up(self.http_port, count), f"{count} data nodes did not come up")

    def _start(self, name: str, main_class: str, properties: Mapping[str, str]) -> None:
        node = self._programs.running(name, main_class, properties)
        self.nodes.append(self._stack.enter_context(node))

    def enter_safe_mode(self) -> None:
        self._machine.run_tool(_ADMIN, "-safemode", "enter")

    def leave_safe_mode(self) -> None:
        self._machine.run_tool(_ADMIN, "-safemode", "leave")

    def allow_space(self, path: str, byte_count: int) -> None:
        """Set how many bytes, replicas included, may lie below a folder."""
        self._machine.run_tool(_ADMIN, "-setSpaceQuota", str(byte_count), path)

    def code(self, path: str, policy: str) -> None:
        """Let the files below a folder be erasure-coded."""
        self._machine.run_tool(_CODING, "-enablePolicy", "-policy", policy)
        self._machine.run_tool(_CODING, "-setPolicy", "-path", path, "-policy", policy)

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
    is_one_process: bool = True,
) -> Iterator[HdfsCluster]:
    """Start HDFS with its files and logs in `folder`; it ends with the block.

    Args:
        settings: more of its servers.
        is_one_process: whether all nodes are one process, which is cheaper, but kills none alone.
    """
    with ExitStack() as stack:
        every = {"dfs.replication": str(replication), **(settings or {})}
        cluster = HdfsCluster(folder, stack, every, is_one_process=is_one_process)
        cluster.start_data_nodes(data_node_count)
        yield cluster
