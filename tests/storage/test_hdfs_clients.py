"""Hosts at which no name node answers; tests/services has some that do."""

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from seglake.storage import hdfs_clients
from seglake.storage.errors import StoreSilentError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.hdfs_access import HdfsAccess, access_of
from seglake.storage.hdfs_clients import client_of, config_now

_AT_ONCE = {"dfs.client.failover.max.attempts": "0"}


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """Takes connections, as the kernel does for it, and says nothing."""
    before = threading.enumerate()
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server
    # What still waits for an answer ends now, and must not do so as the interpreter ends.
    for thread in threading.enumerate():
        if thread not in before:
            thread.join(9)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdfs_clients, "_ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(hdfs_clients, "_AGAIN_SECONDS", 0.05)


def _address(server: socket.socket) -> str:
    return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("call", [client_of, config_now])
def test_a_host_that_swallows_what_it_is_sent_is_given_up(
    call: Callable[[HdfsAccess], object], listening: socket.socket
) -> None:
    place = f"hdfs://{_address(listening)}"
    with pytest.raises(StoreSilentError, match=f"{place} has not answered in"):
        call(access_of(f"{place}/x", HadoopProperties(_AT_ONCE)))


@pytest.mark.usefixtures("_impatient")
def test_all_name_nodes_of_a_nameservice_are_asked_at_once(listening: socket.socket) -> None:
    known = {"dfs.ha.namenodes.prod": "a,b,c"} | {
        f"dfs.namenode.rpc-address.prod.{name}": _address(listening) for name in "abc"
    }
    with pytest.raises(StoreSilentError, match="hdfs://prod has not answered"):
        config_now(access_of("hdfs://prod/x", HadoopProperties(_AT_ONCE | known)))
    connections: list[socket.socket] = []
    listening.settimeout(0)
    while len(connections) < 3:  # else there is none to accept
        connections.append(listening.accept()[0])
    for connection in connections:
        connection.close()
