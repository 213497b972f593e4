"""No payload and no secret is in anything that a command writes beside the tables made for it."""

import base64
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
from support.encoder import (
    Codec,
    EncodedBatch,
    Header,
    Partition,
    Record,
    Segment,
    message,
    payload_batch,
    record_batch,
    with_right_checksum,
    write_log_dir,
)
from support.encoder.internal import config_value, offset_key, offset_value
from support.faults import bad_crc

# Their first bytes already tell: what is shown cut short is found, too.
_PAYLOADS = {
    "key": b"Kq7ZkeyCanary",
    "value": b"Vw3XvalueCanary",
    "header": b"Hb9YheaderCanary",
    "header name": b"Nm5WnameCanary",
    "metadata": b"Md2QmetadataCanary",
    "config": b"Cf8RconfigCanary",
}
_SECRETS = {
    "AWS_SECRET_ACCESS_KEY": b"Sk4TsecretCanary",
    "AWS_SESSION_TOKEN": b"St6UtokenCanary",
    "OPENLINEAGE_API_KEY": b"Ol1PlineageCanary",
    "spark.hadoop.fs.s3a.secret.key": b"Sp7MsparkCanary",
    "password": b"Pw2NuriCanary",
}
_HIDDEN = _PAYLOADS | _SECRETS
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


def _forms(hidden: bytes) -> set[bytes]:
    """How bytes may be written down: as they are, hex, base64 from any place, numbers."""
    core = hidden[:9]
    found = {core, core.hex().encode(), core.hex().upper().encode(), core.hex(" ").encode()}
    for shift in range(3):
        text = base64.b64encode(bytes(shift) + core)
        found.add(text[-(-8 * shift // 6) : 8 * (shift + len(core)) // 6])
    return found | {", ".join(map(str, core)).encode(), core.decode().encode("utf-16-le")}


def _leaks(content: bytes) -> list[str]:
    return [name for name, hidden in _HIDDEN.items() if any(f in content for f in _forms(hidden))]


def _record(number: int) -> Record:
    """A record full of what must not be seen; each second one is no text."""
    binary = b"\xfe\x00" * (number % 2)
    headers = ((_PAYLOADS["header name"].decode(), binary + _PAYLOADS["header"] + b"!"),)
    key, value = (binary + _PAYLOADS[name] + b"%d" % number for name in ("key", "value"))
    return Record(key, value, 1_700_000_000_000 + number, headers)


def _plain(offset: int, codec: Codec = Codec.NONE) -> EncodedBatch:
    return record_batch(offset, [_record(offset), _record(offset + 1)], codec=codec)


def _broken(offset: int, codec: Codec = Codec.NONE) -> EncodedBatch:
    """A batch with a right checksum over what is no record, or no output of the codec."""
    payload = b"".join(_PAYLOADS.values()) * 3
    header = Header(last_offset_delta=1, record_count=2)
    return payload_batch(offset, payload, header, codec=codec)


def _lying(offset: int) -> EncodedBatch:
    """A length inside a record that leads out of it."""
    batch = _plain(offset)
    data = bytearray(batch.data)
    place = data.index(_PAYLOADS["value"][:4]) - 1
    data[place] = 0x7E
    return batch._replace(data=with_right_checksum(bytes(data)))


def _bad_header_name(offset: int) -> EncodedBatch:
    name = b"\xff" + _PAYLOADS["header name"]
    return record_batch(offset, [_record(offset)._replace(headers=((name, b"x"),)), _record(1)])


def _write_disks(folder: Path) -> None:
    """Two brokers: damage of every kind on one, and another record of the same leader on both."""
    batches = [_plain(0), bad_crc(_plain(2)), _lying(4), _bad_header_name(6), _plain(8)]
    batches += [_broken(10 + 2 * codec, codec) for codec in Codec]
    batches += [bad_crc(_plain(20, Codec.ZSTD)), _plain(22)]
    old = [message(n, _record(n)._replace(headers=()), 1) for n in range(4)]
    old[1] = bad_crc(old[1])
    groups = [offset_key("g", "orders", 0), b"\0\x63" + _PAYLOADS["key"]]
    values = [
        offset_value(3, 1_700_000_000_000, _PAYLOADS["metadata"].decode()),
        _PAYLOADS["metadata"],
    ]
    secret = config_value(4, "1", "ssl.key.password", _PAYLOADS["config"].decode())
    metadata = [Record(None, secret), Record(None, secret + _PAYLOADS["config"])]
    commits = [Record(key, value) for key, value in zip(groups, values, strict=True)]
    others = {
        "old": old,
        "__consumer_offsets": [record_batch(0, commits), bad_crc(record_batch(2, commits))],
        "__cluster_metadata": [record_batch(0, metadata), bad_crc(record_batch(2, metadata))],
    }
    partitions = [Partition(topic, 0, [Segment(0, log)]) for topic, log in others.items()]
    write_log_dir(folder / "0", [Partition("orders", 0, [Segment(0, batches)]), *partitions])
    again = [_plain(0), _plain(2), record_batch(4, [_record(8), _record(9)]), *batches[3:]]
    again[4] = record_batch(8, [_record(1), _record(2)])
    write_log_dir(folder / "1", [Partition("orders", 0, [Segment(0, again)])], broker_id=1)
    log = folder / "0" / "orders-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes() + _plain(24).data[:-9])


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
    _write_disks(tmp_path / "disks")
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
        *(("cat", "3"), ("audit", "3"), ("cat", "1"), ("replay", "1")),
    ]
    for words in ("refuses the secret key", "Traceback", "malformed_record", "403"):
        assert words in said, words
    names = {Path(name).name for name in everything}
    assert {"metrics", "lineage", "page", "report", "rows"} <= names
    assert b"decompression_failed" in everything[str(tmp_path / "out" / "rows")]


if __name__ == "__main__":
    _call_all(Path(sys.argv[1]), json.loads(sys.argv[2]))
