"""HDFS with two name nodes of one nameservice, of which one is active and the other stands by."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support.servers.hadoop_programs import (
    NAME_NODE,
    START_SECONDS,
    HadoopPrograms,
    is_up,
    wait_for,
    write_conf,
)
from support.servers.processes import LOOPBACK, Running, free_port

NAMES = ("nn1", "nn2")
_ADMIN = "DFSHAAdmin"
_PROXY = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"


class HdfsPair:
    """Two name nodes and a data node; both stand by until one is made active.

    Attributes:
        uri: of the root folder, without a slash at its end.
        properties: what a client of the nameservice `prod` must know.
        conf: folder with them, as HADOOP_CONF_DIR takes it.
        name_nodes: the processes, by name.
    """

    uri = "hdfs://prod"

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._stack = stack
        self._active = ""
        self._ports = ports = {name: free_port() for name in NAMES}
        self.properties = {
            "fs.defaultFS": self.uri,
            "dfs.nameservices": "prod",
            "dfs.ha.namenodes.prod": ",".join(NAMES),
            "dfs.client.failover.proxy.provider.prod": _PROXY,
        } | {f"dfs.namenode.rpc-address.prod.{n}": f"{LOOPBACK}:{ports[n]}" for n in NAMES}
        self.conf = write_conf(folder / "conf", self.properties)
        self._pages = {name: free_port() for name in NAMES}
        own = {
            f"dfs.namenode.http-address.prod.{n}": f"{LOOPBACK}:{p}" for n, p in self._pages.items()
        }
        own |= {f"dfs.namenode.name.dir.prod.{n}": f"file://{folder / n}" for n in NAMES}
        edits = {
            "dfs.namenode.shared.edits.dir": f"file://{folder / 'edits'}",
            "dfs.replication": "1",
        }
        self._programs = HadoopPrograms(folder, self.properties | own | edits)
        self._machine = stack.enter_context(self._programs.machine())
        self._machine.format_names(_identity(NAMES[0]))
        shutil.copytree(folder / NAMES[0], folder / NAMES[1])
        self.name_nodes = {name: self._started(name) for name in NAMES}
        self._machine.start_data_node({"dfs.datanode.data.dir": f"file://{folder / 'blocks'}"})
        self.stand_by()

    def _started(self, name: str) -> Running:
        node = self._programs.running(name, NAME_NODE, _identity(name))
        return self._stack.enter_context(node)

    def stand_by(self) -> None:
        """Let both name nodes stand by, also one that was killed."""
        for name, node in self.name_nodes.items():
            if not node.is_running:
                self.name_nodes[name] = self._started(name)
            elif name == self._active:
                self.make_stand_by(name)
        for name, node in self.name_nodes.items():
            node.wait_for_port(self._ports[name], seconds=START_SECONDS)
        self._active = ""

    def make_active(self, name: str) -> None:
        """Let a name node that stands by serve."""
        self._active = name
        self._machine.run_tool(_ADMIN, "-transitionToActive", "--forceactive", name)
        wait_for(lambda: is_up(self._pages[name], 1), f"{name} did not find its data node")

    def make_stand_by(self, name: str) -> None:
        """Let a name node refuse clients."""
        self._machine.run_tool(_ADMIN, "-transitionToStandby", name)


def _identity(name: str) -> dict[str, str]:
    """Return the property that says which name node a process is."""
    return {"dfs.ha.namenode.id": name}


@contextmanager
def hdfs_pair(folder: Path) -> Iterator[HdfsPair]:
    """Start it with its files and logs in `folder`; it ends with the block."""
    with ExitStack() as stack:
        yield HdfsPair(folder, stack)
