"""Makes the clients of HDFS, and finds the active name node.

A client tries the name nodes of a nameservice in their order. It waits forever for a name node that
accepts a request and never answers. So all name nodes are asked at once, with a time limit, before
a client is made or delta-rs is called. delta-rs contacts the first name node for each call; if it
refuses the connection, delta-rs's reads can wait for each other forever (deltalake 1.6.6 with
hdfs-native 0.13.5: 7 of 32 processes that opened five tables).
"""

import contextlib
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, as_completed
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from seglake.storage.daemon_call import called
from seglake.storage.errors import StoreSilentError
from seglake.storage.hdfs_access import HdfsAccess, name_nodes, with_name_nodes
from seglake.storage.hdfs_errors import error_of, is_answer

if TYPE_CHECKING:
    from hdfs_native import Client

_KEPT = 32
_ANSWER_SECONDS = 45
_AGAIN_SECONDS = 1
_AT_ONCE = {"dfs.client.failover.max.attempts": "0"}


@lru_cache(maxsize=_KEPT)
def client_of(access: HdfsAccess) -> "Client":
    """Return this process's shared client for a file system, once a name node has answered.

    Raises:
        StoreSilentError: no name node answers.
        StorageError: another service uses the port, the user is refused, or no address is
            configured.
    """
    return _client(access.uri, config_now(access))


def config_now(access: HdfsAccess) -> dict[str, str]:
    """Return the client's properties, with the active name node in first place.

    Raises:
        StoreSilentError: no name node answers.
        StorageError: another service uses the port, the user is refused, or no address is
            configured.
    """
    nodes = _nodes(access)
    active = nodes.active()
    if active is None:  # no name node answered: a stand-by may be about to take over
        nodes.wait()
        active = nodes.active()
    others = [name for name in name_nodes(access) if name != active]
    return with_name_nodes(access, [active, *others] if active else others)


class _Question(NamedTuple):
    """Request to a name node, and its answer once it has arrived."""

    asked_at_s: float
    answer: "Future[None]"


class _NameNodes:
    """The name nodes of a nameservice; a single name node has an empty name."""

    def __init__(self, access: HdfsAccess) -> None:
        """Store the access; no name node is contacted yet."""
        self._access = access
        self._names = name_nodes(access) or [""]
        self._clients: dict[str, Client] = {}
        self._questions: dict[str, _Question] = {}
        self._lock = threading.Lock()

    def active(self) -> str | None:
        """Ask all name nodes at once, and return the first that answers; None if all refuse.

        While some name nodes do not answer, those that refused are asked again, because one of them
        may become active.

        Raises:
            StoreSilentError: no name node has answered in 45 seconds.
        """
        end_s = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < end_s:
            asked = self._ask()
            with contextlib.suppress(TimeoutError):
                for answer in as_completed(asked, _AGAIN_SECONDS):
                    if answer.exception() is None:
                        return asked[answer]
                return None
        raise self._silent()

    def wait(self) -> None:
        """Wait until a name node answers the client; the client itself retries.

        Raises:
            StoreSilentError: no name node has answered in 45 seconds.
            StorageError: the client gave up; the error has the client's reason.
        """
        access = self._access
        try:
            client = _client(access.server, dict(access.config))
            called(lambda: _greet(client)).result(_ANSWER_SECONDS)
        except TimeoutError:
            raise self._silent() from None
        except (OSError, RuntimeError) as error:
            raise error_of("use", f"{access.uri}/", error, access.server) from None

    def _ask(self) -> dict["Future[None]", str]:
        """Ask each name node without an open request; return all open requests, by node."""
        now_s = time.monotonic()
        with self._lock:
            for name in self._names:
                question = self._questions.get(name)
                if question and question.asked_at_s < now_s - _ANSWER_SECONDS:
                    # the connection without an answer may be dead
                    self._clients.pop(name, None)
                elif question and not question.answer.done():
                    continue
                self._questions[name] = _Question(now_s, called(partial(self._greet, name)))
            return {question.answer: name for name, question in self._questions.items()}

    def _greet(self, name: str) -> None:
        """Ask one name node for its root folder, to find out whether it is active."""
        _greet(self._client(name))

    def _client(self, name: str) -> "Client":
        """Return the cached client of a name node; it does not retry."""
        if name not in self._clients:
            config = with_name_nodes(self._access, [name] if name else [])
            self._clients[name] = _client(self._access.server, config | _AT_ONCE)
        return self._clients[name]

    def _silent(self) -> StoreSilentError:
        """Return the error for name nodes that do not answer."""
        server = self._access.server
        reason = f"{server} has not answered in {_ANSWER_SECONDS} s"
        return StoreSilentError(action="use", path=f"{self._access.uri}/", reason=reason)


@lru_cache(maxsize=_KEPT)
def _nodes(access: HdfsAccess) -> _NameNodes:
    """Return the name nodes of a file system, which this process shares."""
    return _NameNodes(access)


def _client(uri: str, config: Mapping[str, str]) -> "Client":
    """Return a new client of hdfs-native."""
    from hdfs_native import Client

    return Client(uri, config=dict(config))


def _greet(client: "Client") -> None:
    """Ask a name node for its root folder, to find out whether it answers.

    'Permission denied' is an answer too.
    """
    try:
        client.get_file_info("/")
    except FileNotFoundError:
        pass
    except (OSError, RuntimeError) as error:
        if not is_answer(str(error)):
            raise
