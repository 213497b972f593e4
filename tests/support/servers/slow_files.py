"""Serves one file by HTTP on loopback; the first download of it is as slow as a bad link."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support.servers.processes import LOOPBACK

_PIECES = 100


@contextmanager
def slow_file(file: Path, *, first_seconds: float) -> Iterator[str]:
    """Serve a file while the block lasts; yield its URL.

    Args:
        file: the file to serve.
        first_seconds: least duration of the first download; later ones are not slowed down.
    """
    is_first = threading.Lock()
    size = file.stat().st_size

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()
            with file.open("rb") as content:
                if is_first.acquire(blocking=False):
                    while piece := content.read(-(-size // _PIECES)):
                        time.sleep(first_seconds / _PIECES)
                        self.wfile.write(piece)
                shutil.copyfileobj(content, self.wfile)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer((LOOPBACK, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{LOOPBACK}:{server.server_address[1]}/{file.name}"
        server.shutdown()
