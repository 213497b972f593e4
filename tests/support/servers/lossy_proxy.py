"""A proxy in front of a store of HTTP, which loses the answer of a commit, or lets it wait."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from support.servers.processes import LOOPBACK
from support.servers.s3_server import S3Server

_COMMIT = re.compile(r"/_delta_log/\d+\.json|/_seglake/redo/")
_OF_A_CONNECTION = {"connection", "transfer-encoding", "content-length", "expect", "keep-alive"}
_MOST_SECONDS = 60


class Loss(StrEnum):
    """What happens to one commit's request."""

    ANSWER = "it is done, and the connection ends without an answer"
    REQUEST = "the connection ends before it is done"
    DENIED = "it is done, and the answer says that the server failed"
    LATE = "it is done only when other runs have come and gone"


class LossyProxy:
    """Passes everything on but one request.

    Attributes:
        commits: the paths of the requests that commit something, in order.
    """

    def __init__(self, server: S3Server) -> None:
        self.commits: list[str] = []
        self._behind = urlsplit(server.endpoint).netloc
        self._lost: dict[int, tuple[Loss, Callable[[], object]]] = {}
        self._lock = threading.Lock()
        self.front = ThreadingHTTPServer((LOOPBACK, 0), self._handler())
        self.front.daemon_threads = True
        self.server = replace(server, endpoint=f"http://{LOOPBACK}:{self.front.server_port}")

    def lose(
        self, number: int, loss: Loss, *, meanwhile: Callable[[], object] = lambda: None
    ) -> None:
        """Let it happen to the request that commits something as the n-th from now, from 0.

        Args:
            meanwhile: is done before a late one is.
        """
        with self._lock:
            self.commits = []
            self._lost = {number: (loss, meanwhile)}

    def what_happens(self, method: str, path: str) -> tuple[Loss | None, Callable[[], object]]:
        if method != "PUT" or not _COMMIT.search(path):
            return None, lambda: None
        with self._lock:
            self.commits.append(path)
            return self._lost.pop(len(self.commits) - 1, (None, lambda: None))

    def passed_on(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[HTTPResponse, bytes]:
        """The store's answer to a request, which is passed on as it came: it is signed."""
        connection = HTTPConnection(self._behind, timeout=_MOST_SECONDS)
        connection.putrequest(
            handler.command, handler.path, skip_host=True, skip_accept_encoding=True
        )
        for name, value in handler.headers.items():
            if name.lower() not in {"expect", "connection"}:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(1 << 16)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                loss, meanwhile = proxy.what_happens(self.command, self.path)
                if loss is Loss.LATE:
                    meanwhile()
                if loss is Loss.REQUEST:
                    self.close_connection = True
                    return
                answer, content = proxy.passed_on(self, body)
                if loss is Loss.ANSWER:
                    self.close_connection = True
                    return
                self._give(503 if loss is Loss.DENIED else answer.status, answer, content)

            def _give(self, status: int, answer: HTTPResponse, content: bytes) -> None:
                self.send_response_only(status)
                for name, value in answer.getheaders():
                    if name.lower() not in _OF_A_CONNECTION:
                        self.send_header(name, value)
                length = answer.getheader("Content-Length") if self.command == "HEAD" else None
                self.send_header("Content-Length", length or str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                self.wfile.flush()

        return Handler


@contextmanager
def lossy_proxy(server: S3Server) -> Iterator[LossyProxy]:
    """A proxy in a thread of this process."""
    proxy = LossyProxy(server)
    thread = threading.Thread(target=proxy.front.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.front.shutdown()
        proxy.front.server_close()
        thread.join()
