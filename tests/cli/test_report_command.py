"""`seglake report` writes a page, and says what it says first."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from seglake.cli import report_command
from support.wide_lake import write_wide_lake


def test_report_prints_the_answer_and_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wide_lake(tmp_path / "lake", 12)
    page = tmp_path / "page.html"
    assert report_command.main(["--lake", str(tmp_path / "lake"), "--output", str(page)]) == 0
    said = capsys.readouterr().out
    assert said.endswith(f"5 of 12 partitions need a look: {page}\n")
    assert page.read_text("utf-8")[:15] == "<!DOCTYPE html>"


def test_settings_say_how_long_a_bound_may_stand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wide_lake(tmp_path / "lake", 20, first_offset=1)
    command = ["--lake", str(tmp_path / "lake"), "--output", str(tmp_path / "page.html")]
    assert report_command.main(command) == 0
    assert report_command.main([*command, "--set", "limits.stuck_after=6h"]) == 0
    said = capsys.readouterr().out.splitlines()
    counts = [int(line.rpartition("; ")[2].split()[0]) for line in said]
    assert counts[0] < counts[1] < 20


def test_place_that_is_a_folder_or_no_lake_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wide_lake(tmp_path / "lake", 1)
    lake = ["--lake", str(tmp_path / "lake")]
    assert report_command.main([*lake, "--output", str(tmp_path)]) == 2
    assert "it is a folder" in capsys.readouterr().err
    nowhere = tmp_path / "nowhere" / "page.html"
    assert report_command.main([*lake, "--output", str(nowhere)]) == 2
    assert "must name a file in an existing folder" in capsys.readouterr().err
    assert not nowhere.parent.exists()
    no_lake = ["--lake", str(tmp_path / "none"), "--output", str(tmp_path / "page.html")]
    assert report_command.main(no_lake) == 2
    assert "is not a lake" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


class _Refusing(BaseHTTPRequestHandler):
    """A store that has no such object, and accepts none."""

    def _answer(self, code: int, reason: str) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = f"<Error><Code>{reason}</Code><Message>No.</Message></Error>".encode()
        if self.path.startswith("/readable") and self.command == "GET":
            code, body = 200, b"<ListBucketResult></ListBucketResult>"
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body * (self.command != "HEAD"))

    def do_GET(self) -> None:
        self._answer(404, "NoSuchBucket")

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        self._answer(*((403, "AccessDenied") if "readable" in self.path else (404, "NoSuchBucket")))

    def log_message(self, *shown: object) -> None:
        """Keep stderr clean."""


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = HTTPServer(("127.0.0.1", 0), _Refusing)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "region",
    }.items():
        monkeypatch.setenv(name, value)
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("bucket", ["readable", "nowhere"])
def test_a_place_in_a_store_that_may_not_be_written_to_ends_with_2_before_any_work(
    bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ["--output", f"s3://{bucket}/page.html"]
    assert report_command.main(["--lake", str(tmp_path / "none"), *page]) == 2
    assert f"the report cannot be written to s3://{bucket}/page.html: " in capsys.readouterr().err
