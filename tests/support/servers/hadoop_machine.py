"""A Java virtual machine that runs Hadoop's nodes and tools when it is told to.

With a virtual machine for each of them, each would load and compile Hadoop for seconds.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway

from support.servers.processes import Running, ServerError, free_port, started

MAIN_CLASS = "py4j.GatewayServer"
_SHOWN_CHARACTERS = 2000


class HadoopMachine:
    """What a machine is told to do; each call ends when it is done."""

    # Any: objects of Java.
    def __init__(self, gateway: Any, running: Running) -> None:
        self._gateway = gateway
        self._hdfs = gateway.jvm.org.apache.hadoop.hdfs
        self._running = running

    def format_names(self, properties: Mapping[str, str]) -> None:
        """Make the folders of a name node, which has some properties of its own."""
        self._hdfs.server.namenode.NameNode.format(self._configuration(properties))

    def start_name_node(self) -> None:
        """Start a name node that ends with the machine."""
        self._gateway.jvm.org.apache.hadoop.metrics2.lib.DefaultMetricsSystem.setMiniClusterMode(
            True  # else each data node beside it would need another name
        )
        name_node = self._hdfs.server.namenode.NameNode
        name_node.createNameNode(self._array(), self._configuration({}))

    def start_data_node(self, properties: Mapping[str, str]) -> None:
        """Start a data node that ends with the machine, and has some properties of its own."""
        data_node = self._hdfs.server.datanode.DataNode
        data_node.createDataNode(self._array(), self._configuration(properties))

    def run_tool(self, name: str, *arguments: str) -> None:
        """Run a tool of HDFS, of a class with this name."""
        configuration, made = self._configuration({}), getattr(self._hdfs.tools, name)
        tool = made(configuration) if name == "ECAdmin" else made()  # which alone wants it
        runner = self._gateway.jvm.org.apache.hadoop.util.ToolRunner
        if runner.run(configuration, tool, self._array(*arguments)):
            said = self._running.log.read_text(errors="replace")[-_SHOWN_CHARACTERS:]
            raise ServerError(f"{name} {' '.join(arguments)}: {said}")

    def _configuration(self, properties: Mapping[str, str]) -> Any:
        made = self._hdfs.HdfsConfiguration()
        for name, value in properties.items():
            made.set(name, value)
        return made

    def _array(self, *texts: str) -> Any:
        made = self._gateway.new_array(self._gateway.jvm.String, len(texts))
        for index, text in enumerate(texts):
            made[index] = text
        return made


@contextmanager
def hadoop_machine(command: Sequence[str | Path], log: Path) -> Iterator[HadoopMachine]:
    """Run a machine until the block ends.

    Args:
        command: starts Java with Hadoop's classes, and ends with `MAIN_CLASS`.
        log: file that takes what it prints.
    """
    port = free_port()
    with started([*command, str(port)], log=log) as running:
        running.wait_for_port(port)
        with closing(JavaGateway(gateway_parameters=GatewayParameters(port=port))) as gateway:
            yield HadoopMachine(gateway, running)
