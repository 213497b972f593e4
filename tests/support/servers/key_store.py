"""A store that speaks as much of S3 as it takes to list and read, and holds keys of any spelling.

File systems behind other servers have no place for a key with an empty part.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_TIME = "2023-11-14T22:13:20.000Z"
_HTTP_TIME = "Tue, 14 Nov 2023 22:13:20 GMT"


@contextmanager
def key_store(objects: Mapping[str, bytes]) -> Iterator[Mapping[str, str]]:
    """Serve objects in every bucket; yields the properties that lead there."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            asked = parse_qs(url.query, keep_blank_values=True)
            if "list-type" in asked:
                prefix, delimiter = (asked.get(n, [""])[0] for n in ("prefix", "delimiter"))
                self._answer(200, _listing(objects, prefix, delimiter))
                return
            content = objects.get(unquote(url.path).split("/", 2)[2])
            if content is None:
                self._answer(404, b"")
                return
            first, _, last = self.headers.get("Range", "bytes=0-").partition("=")[2].partition("-")
            part = content[int(first) : int(last) + 1 if last else None]
            size = f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}"
            self._answer(206 if "Range" in self.headers else 200, part, {"Content-Range": size})

        def _answer(self, status: int, content: bytes, more: Mapping[str, str] = {}) -> None:
            self.send_response(status)
            headers = {"ETag": '"1"', "Last-Modified": _HTTP_TIME, **more}
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield {
            "fs.s3a.endpoint": f"http://127.0.0.1:{server.server_port}",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": "key",
            "fs.s3a.secret.key": "secret",
        }
        server.shutdown()


def _listing(objects: Mapping[str, bytes], prefix: str, delimiter: str) -> bytes:
    """Answer a request for a list as S3 does."""
    below = [key for key in sorted(objects) if key.startswith(prefix)]
    rests = {key: key.removeprefix(prefix) for key in below}
    inner = [key for key in below if delimiter and delimiter in rests[key]]
    folders = dict.fromkeys(prefix + rests[key].split(delimiter)[0] + delimiter for key in inner)
    listed = "".join(
        f"<Contents><Key>{escape(key)}</Key><LastModified>{_TIME}</LastModified>"
        f'<ETag>"1"</ETag><Size>{len(objects[key])}</Size></Contents>'
        for key in below
        if key not in inner
    )
    shown = "".join(
        f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in folders
    )
    return (
        f"<ListBucketResult><Name>b</Name><Prefix>{escape(prefix)}</Prefix><IsTruncated>false"
        f"</IsTruncated>{listed}{shown}</ListBucketResult>"
    ).encode()
