"""S3 servers on loopback, each with a port and a folder of its own, of which buckets are folders.

`versitygw` is a real one: it honours conditions. It is built from its source once, with Go, into
`build/tools`. `rclone` ignores conditions and ranges, and stands for stores that lose commits.
`minio` is another real one, and takes minutes to build.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from seglake.storage.hadoop_properties import HadoopProperties
from support.servers.processes import LOOPBACK, Running, free_port, started

_TOOLS = Path(__file__).resolve().parents[3] / "build" / "tools"
_BUILD_SECONDS = 1200
_VERSITYGW = ("versitygw-1.8.0", "github.com/versity/versitygw/cmd/versitygw@v1.8.0")
_MINIO = (
    "minio-20260212",
    "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c",
)

ACCESS_KEY = "seglake-test-access"
SECRET_KEY = "seglake-test-secret-8e1f"
REGION = "us-east-1"


@dataclass(frozen=True)
class S3Server:
    """A running server.

    Attributes:
        folder: has a folder for each bucket, whose files are the objects (not of `minio`).
        requests: log of the requests, one a line (`versitygw` alone).
    """

    endpoint: str
    folder: Path
    requests: Path | None = None
    access_key: str = ACCESS_KEY
    secret_key: str = field(default=SECRET_KEY, repr=False)

    def make_bucket(self, name: str) -> Path:
        """Make a bucket, if it is not there; the folder of its objects."""
        (self.folder / name).mkdir(exist_ok=True)
        return self.folder / name

    def hadoop(self, *, bucket: str | None = None) -> dict[str, str]:
        """Hadoop's properties that lead here, for all buckets or for one."""
        prefix = "fs.s3a" if bucket is None else f"fs.s3a.bucket.{bucket}"
        return {
            f"{prefix}.endpoint": self.endpoint,
            f"{prefix}.endpoint.region": REGION,
            f"{prefix}.path.style.access": "true",
            f"{prefix}.access.key": self.access_key,
            f"{prefix}.secret.key": self.secret_key,
        }

    def properties(self) -> HadoopProperties:
        return HadoopProperties(self.hadoop())

    def environment(self) -> dict[str, str]:
        """The variables that lead here."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
        }

    def request_count(self) -> int:
        """Return the number of requests so far."""
        if self.requests is None:
            raise ValueError("this server logs no requests")
        return len(self.requests.read_text().splitlines())


def versitygw_program() -> Path:
    """The server's own file, which needs nothing else; skips the test where it cannot be built."""
    return _built(*_VERSITYGW)


@contextmanager
def versitygw(folder: Path, *options: str) -> Iterator[S3Server]:
    """A server that honours conditions; skips the test where it cannot be built.

    Args:
        folder: for its objects and logs.
        options: more of its own, such as `--readonly`.
    """
    program = versitygw_program()
    data, requests = folder / "data", folder / "requests.log"
    data.mkdir(parents=True, exist_ok=True)
    port = free_port()
    place = ("--port", f"{LOOPBACK}:{port}", "--keep-alive", "--access-log", str(requests))
    with started(
        [program, *place, *options, "--quiet", "posix", data],
        log=folder / "versitygw.log",
        environment={"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY},
    ) as running:
        yield _ready(running, port, data, requests)
        running.kill()  # asked to stop, it waits for clients that keep their connections


@contextmanager
def minio(folder: Path) -> Iterator[S3Server]:
    """A server with a format of its own; skips the test where it cannot be built."""
    program = _built(*_MINIO)
    data, port = folder / "data", free_port()
    data.mkdir(parents=True, exist_ok=True)
    with started(
        [program, "server", "--quiet", "--address", f"{LOOPBACK}:{port}", data],
        log=folder / "minio.log",
        environment={
            "MINIO_ROOT_USER": ACCESS_KEY,
            "MINIO_ROOT_PASSWORD": SECRET_KEY,
            "MINIO_UPDATE": "off",
        },
    ) as running:
        yield _ready(running, port, data, None)


@contextmanager
def rclone(folder: Path) -> Iterator[S3Server]:
    """A server that lets everybody create the same object."""
    program = Path(sys.executable).with_name("rclone")
    data, port = folder / "data", free_port()
    data.mkdir(parents=True, exist_ok=True)
    with started(
        [
            *(program, "serve", "s3", data, "--addr", f"{LOOPBACK}:{port}"),
            *("--auth-key", f"{ACCESS_KEY},{SECRET_KEY}", "--vfs-cache-mode", "off"),
            *("--config", "/dev/null"),
        ],
        log=folder / "rclone.log",
    ) as running:
        yield _ready(running, port, data, None)


def _ready(running: Running, port: int, data: Path, requests: Path | None) -> S3Server:
    running.wait_for_port(port)
    return S3Server(f"http://{LOOPBACK}:{port}", data, requests)


def _built(name: str, package: str) -> Path:
    """The program of a Go package, built on first use; of several at once, the last one stays."""
    program = _TOOLS / name / name.partition("-")[0]
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        pytest.skip(f"{name} is not in {_TOOLS} and there is no Go to build it with")
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=program.parent) as scratch:
        made = subprocess.run(
            [go, "install", package],
            env={**os.environ, "GOBIN": scratch},
            capture_output=True,
            text=True,
            timeout=_BUILD_SECONDS,
            check=False,
        )
        if made.returncode:
            pytest.skip(f"{name} cannot be built with Go: {made.stderr.strip()[-400:]}")
        Path(scratch, program.name).replace(program)
    return program


def without_aws(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment that says nothing of S3."""
    return {name: value for name, value in environment.items() if not name.startswith("AWS_")}
