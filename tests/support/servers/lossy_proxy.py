"""A proxy in front of an S3 store, which loses the answer of a commit, or lets the commit wait.

It is a process of its own: while delta-rs waits for an answer, no other thread of its process runs.
"""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple, NoReturn
from urllib.parse import urlsplit
from urllib.request import urlopen

from support.servers.processes import LOOPBACK, free_port, started
from support.servers.s3_server import S3Server

_COMMIT = re.compile(r"/_delta_log/\d+\.json|/_seglake/redo/")
_CONTROL = "/-/"
_OF_A_CONNECTION = {"connection", "transfer-encoding", "content-length", "expect", "keep-alive"}
_MOST_SECONDS = 120


class Loss(StrEnum):
    """Fault of the request of one commit."""

    ANSWER = "it is done, and the connection ends without an answer"
    REQUEST = "the connection ends before it is done"
    DENIED = "it is done, and the answer says that the server failed"
    LATE = "it is done only when another run has come and gone"


class _Plan(NamedTuple):
    number: int
    loss: Loss
    meanwhile: list[str]


@dataclass
class _State:
    """Orders for the proxy, and the requests that it has seen."""

    behind: str
    plan: _Plan | None = None
    commits: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def lose(self, body: bytes) -> None:
        number, loss, meanwhile = json.loads(body)
        with self.lock:
            self.commits, self.plan = [], _Plan(number, Loss(loss), meanwhile)

    def plan_for(self, method: str, path: str) -> _Plan | None:
        """Return the fault that a request is to get; None for none."""
        if method != "PUT" or not _COMMIT.search(path):
            return None
        with self.lock:
            self.commits.append(path)
            is_due = self.plan is not None and self.plan.number == len(self.commits) - 1
            return self.plan if is_due else None


class LossyProxy(NamedTuple):
    """A proxy that runs; `server` is the store as it is reached through it."""

    server: S3Server

    def lose(self, number: int, loss: Loss, *, meanwhile: Sequence[str] = ()) -> None:
        """Let it happen to the request that commits something as the n-th from now, from 0.

        Args:
            meanwhile: a command that is run before a late one is done.
        """
        said = json.dumps([number, loss, [*meanwhile]]).encode()
        with urlopen(f"{self.server.endpoint}{_CONTROL}", data=said) as answer:
            answer.read()

    def commits(self) -> list[str]:
        """The paths of the requests that commit something, since it was told to lose one."""
        with urlopen(f"{self.server.endpoint}{_CONTROL}") as answer:
            paths: list[str] = json.loads(answer.read())
            return paths


@contextmanager
def lossy_proxy(server: S3Server, folder: Path) -> Iterator[LossyProxy]:
    """A proxy in front of a store; its log is in the folder."""
    port = free_port()
    command = [sys.executable, "-m", __name__, str(port), urlsplit(server.endpoint).netloc]
    paths = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    with started(command, log=folder / "proxy.log", environment=paths) as running:
        running.wait_for_port(port)
        yield LossyProxy(replace(server, endpoint=f"http://{LOOPBACK}:{port}"))


def _passed_on(
    handler: BaseHTTPRequestHandler, body: bytes, behind: str
) -> tuple[HTTPResponse, bytes]:
    """The store's answer to a request, which is passed on as it came: it is signed."""
    connection = HTTPConnection(behind, timeout=_MOST_SECONDS)
    connection.putrequest(handler.command, handler.path, skip_host=True, skip_accept_encoding=True)
    for name, value in handler.headers.items():
        if name.lower() not in {"expect", "connection"}:
            connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def _serve(port: int, behind: str) -> NoReturn:
    state = _State(behind)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer in one piece: in two, the second waits for the first

        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(1 << 16)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path == _CONTROL:
                if body:
                    state.lose(body)
                self._give(200, json.dumps(state.commits).encode())
                return
            plan = state.plan_for(self.command, self.path)
            loss = None if plan is None else plan.loss
            if plan is not None and loss is Loss.LATE:
                subprocess.run(plan.meanwhile, check=True)
            if loss is Loss.REQUEST:
                self.close_connection = True
                return
            answer, content = _passed_on(self, body, state.behind)
            if loss is Loss.ANSWER:
                self.close_connection = True
            elif loss is Loss.DENIED:
                self._give(503, b"")
            else:
                self._give(answer.status, content, answer)

        def _give(self, status: int, content: bytes, answer: HTTPResponse | None = None) -> None:
            self.send_response_only(status)
            for name, value in [] if answer is None else answer.getheaders():
                if name.lower() not in _OF_A_CONNECTION:
                    self.send_header(name, value)
            is_head = answer is not None and self.command == "HEAD"
            length = answer.getheader("Content-Length") if answer is not None and is_head else None
            self.send_header("Content-Length", length or str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()

    front = ThreadingHTTPServer((LOOPBACK, port), Handler)
    front.daemon_threads = True
    front.serve_forever()
    raise AssertionError("it serves until it is killed")


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2])
