"""No payload and no secret is in anything that a command writes beside the tables made for it."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.cli.main import COMMANDS, main
from support.payload_disks import PAYLOADS, found_in, write_damaged_disks

_SECRETS = {
    "AWS_SECRET_ACCESS_KEY": b"Sk4TsecretCanary",
    "AWS_SESSION_TOKEN": b"St6UtokenCanary",
    "OPENLINEAGE_API_KEY": b"Ol1PlineageCanary",
    "spark.hadoop.fs.s3a.secret.key": b"Sp7MsparkCanary",
    "password": b"Pw2NuriCanary",
}
_HIDDEN = PAYLOADS | _SECRETS
_ONE = ("--set", "limits.local_processes=1")
# What is asked to show records does, on stdout.
_SHOWS_RECORDS = {
    "cat": "prints records",
    "sql": "answers with what is asked for",
    "inspect --records": "prints the records of a segment",
}
_READS_NO_RECORDS = {"warm-up", "completion"}
# Tables that have no column made for payloads, and columns that are not.
_PLAIN_TABLES = ("batches", "gaps", "checkpoints", "observations")
_MADE_FOR_DAMAGE = "raw"


def _leaks(content: bytes) -> list[str]:
    return found_in(content, _HIDDEN)


class _Echo(BaseHTTPRequestHandler):
    """A store and a lineage service that refuse, and say again all that they were told."""

    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        told = "".join(f"{name}: {value}\n" for name, value in self.headers.items())
        body = (
            f"<Error><Code>SignatureDoesNotMatch</Code><Message>{told}</Message></Error>".encode()
        )
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body * (self.command != "HEAD"))

    do_GET = do_HEAD = do_PUT = do_POST = _refuse

    def log_message(self, *shown: object) -> None:
        """Keep stderr clean."""


@pytest.fixture
def echo() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _calls(folder: Path, echo: str) -> list[tuple[str, ...]]:
    """Every command at its loudest: on damage, on what differs, on broken tables, and refused."""
    disks, lake = str(folder / "disks"), str(folder / "lake")
    segment = f"{disks}/0/orders-0/{0:020d}.log"
    alone = ("--engine", "local", *_ONE, "--config", str(folder / "spark.toml"), "-vv")
    on_both = ("--source", disks, "--lake", lake, *alone)
    written = ("--metrics", str(folder / "out" / "metrics"), "--log-format=json", "--json")
    lineage = ("--openlineage", str(folder / "out" / "lineage"))
    page = ("--report", str(folder / "out" / "page"))
    away = f"s3a://me:{_SECRETS['password'].decode()}@bucket/disk"
    ask = "SELECT key, value, headers FROM records"
    on_each = "CAST(value_text AS INTEGER) = 1"  # fails on a record
    torn = ("--set", "limits.max_decompressed_batch_bytes=1")
    return [
        ("ingest", *on_both, "--internal-topics"),
        ("ingest", *on_both, *written, "--openlineage", echo),
        ("ingest", "--source", away, "--lake", lake, *alone, *written, *lineage),
        ("ingest", "--source", "s3://bucket/disk", "--lake", lake, *alone),
        ("audit", *on_both, *written, *lineage, *page),
        ("replay", *on_both, *torn),
        ("retake", *on_both, *written),
        ("maintain", "--lake", lake, *alone, *written),
        ("report", "--lake", lake, "--output", str(folder / "out" / "report")),
        ("register", "--lake", lake, "--database", "kafka", "--print"),
        ("inspect", disks),
        ("inspect", segment, "--json"),
        ("inspect --records", segment, "--records"),
        ("cat", "--source", disks, "--internal-topics", "-v"),
        ("cat", "--lake", lake, "-v"),
        ("sql", "--lake", lake, ask, "-v"),
        ("schemas", "--lake", lake),
        ("deserialize", "--lake", lake, "--dry-run"),
        ("schemas", "--lake", lake, "--registry", "orders", "--json", "-v"),
        ("latest", "--lake", lake, "--topics", "orders", "--dry-run"),
        ("erase", "--lake", lake, "--topics", "orders", "--where", on_each, *alone, *written),
        ("break the tables",),
        ("audit", *on_both, *written),
        ("cat", "--lake", lake, "-v"),
        ("replay", *on_both),
    ]


def _call_all(folder: Path, calls: list[list[str]]) -> None:
    """Make the calls one after the other; what shows records has a stdout of its own.

    Runs in a process of its own, so that what libraries and tasks write is seen.
    """
    for name, *options in calls:
        if name == "break the tables":
            (folder / "out" / "rows").write_text(_rows_without_payload(folder / "lake"), "utf-8")
            _break_tables(folder / "lake")
            continue
        shown = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        hides = contextlib.redirect_stdout(shown if name in _SHOWS_RECORDS else sys.stdout)
        with hides:
            code = main([*name.split()[:1], *options])
            sys.stdout.flush()
        count = len(_leaks(shown.buffer.getvalue()))
        sys.stderr.write(f"\ncalled: {name}, {int(code)}, showed {count}\n")
        sys.stderr.flush()


def _break_tables(lake: Path) -> None:
    """Bytes in the middle of the data files change: what reads them fails somewhere inside."""
    paths = [*(lake / "records").rglob("*.parquet"), *(lake / "quarantine").rglob("*.parquet")]
    for path in [path for path in paths if path.parent.name != "_delta_log"]:
        data = bytearray(path.read_bytes())
        data[len(data) // 4 : len(data) // 4 + 40] = bytes(40)
        path.write_bytes(data)


def _rows_without_payload(lake: Path) -> str:
    """What the tables hold in columns that are not made for payloads."""
    tables = {name: DeltaTable(str(lake / name)).to_pyarrow_table() for name in _PLAIN_TABLES}
    damage = DeltaTable(str(lake / "quarantine")).to_pyarrow_table()
    tables["quarantine"] = damage.drop_columns([_MADE_FOR_DAMAGE])
    return repr({name: table.to_pylist() for name, table in tables.items()})


def _everything(folder: Path, done: subprocess.CompletedProcess[bytes]) -> Mapping[str, bytes]:
    """All that is there after the calls, but for the disks and the tables' data files."""
    paths = [*(folder / "out").rglob("*"), *(folder / "tmp").rglob("*")]
    paths += [path for path in (folder / "lake").rglob("*") if path.suffix != ".parquet"]
    found = {str(path): path.read_bytes() for path in paths if path.is_file()}
    names = b"\n".join(os.fsencode(path) for path in folder.rglob("*"))
    return {**found, "stdout": done.stdout, "stderr": done.stderr, "names of files": names}


def test_no_payload_and_no_secret_is_where_it_does_not_belong(tmp_path: Path, echo: str) -> None:
    write_damaged_disks(tmp_path / "disks")
    for name in ("out", "tmp"):
        (tmp_path / name).mkdir()
    name = "spark.hadoop.fs.s3a.secret.key"
    keys = {name: _SECRETS[name].decode(), "spark.hadoop.fs.s3a.access.key": "AK"}
    properties = "".join(f'"{name}" = "{value}"\n' for name, value in keys.items())
    properties = f"[spark.properties]\n{properties}"
    (tmp_path / "spark.toml").write_text(properties, "utf-8")
    calls = _calls(tmp_path, echo)
    called = {name for name, *_ in calls} - {"break the tables"}
    assert {name.split()[0] for name in called} == COMMANDS.keys() - _READS_NO_RECORDS
    environment = {name: value.decode() for name, value in _SECRETS.items() if name.isupper()}
    environment |= {"AWS_ACCESS_KEY_ID": "AK", "AWS_REGION": "r", "AWS_ENDPOINT_URL": echo}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    environment |= {"TMPDIR": str(tmp_path / "tmp"), "RUST_LOG": "debug", "RUST_BACKTRACE": "full"}
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path), json.dumps(calls)],
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    everything = _everything(tmp_path, done)
    assert {name: found for name, text in everything.items() if (found := _leaks(text))} == {}
    # All that could have said something did, and what is hidden would have been found.
    said = done.stderr.decode()
    showed = re.findall(r"^called: (?:inspect --records|cat|sql), .* showed (\d)$", said, re.M)
    assert showed == ["4", "5", "4", "5", "0"]
    assert re.findall("^called: ([a-z]+), ([1-9])", said, re.M) == [
        *(("ingest", "3"), ("ingest", "2"), ("ingest", "2"), ("cat", "3")),
        *(("cat", "3"), ("schemas", "3"), ("deserialize", "3"), ("schemas", "2"), ("erase", "2")),
        ("audit", "3"),
        *(("cat", "1"), ("replay", "1")),
    ]
    for words in ("refuses the secret key", "Traceback", "malformed_record", "403"):
        assert words in said, words
    names = {Path(name).name for name in everything}
    assert {"metrics", "lineage", "page", "report", "rows"} <= names
    assert b"decompression_failed" in everything[str(tmp_path / "out" / "rows")]


if __name__ == "__main__":
    _call_all(Path(sys.argv[1]), json.loads(sys.argv[2]))
