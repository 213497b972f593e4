"""The commands on S3: what they print, and that no key is in it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from seglake.environment.java_home import provide_java
from seglake.storage import s3_access
from support import remote_runs
from support.erasures import places_of
from support.keyed_logs import Values, write
from support.lakes import read_table
from support.latest_state import assert_current
from support.people import people_disk
from support.remote_runs import Ended
from support.servers import s3_server
from support.servers.hadoop_programs import write_conf
from support.servers.s3_server import S3Server, without_aws

pytestmark = [pytest.mark.s3, pytest.mark.timeout(1500)]  # the server may have to be built

_ROOT = Path(__file__).parents[2]
_DISK = _ROOT / "samples" / "broker-0"
_LOCAL = ("--engine", "local", "--set", "limits.local_processes=1")


def seglake(environment: Mapping[str, str], *arguments: str) -> Ended:
    """Run a command in a process of its own."""
    return _run(environment, [sys.executable, "-m", "seglake", *arguments])


def in_process(environment: Mapping[str, str], arguments: Sequence[str]) -> Ended:
    """Run a command in this process, and see that nothing it prints is a key."""
    return _without_keys(environment, remote_runs.in_process(environment, arguments))


def _run(environment: Mapping[str, str], command: Sequence[str | Path]) -> Ended:
    """Run a process with no other variables of AWS, Hadoop and Spark."""
    inherited = {
        name: value
        for name, value in without_aws(os.environ).items()
        if name not in ("HADOOP_CONF_DIR", "SPARK_HOME")
    }
    packages = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=_ROOT,
        env={**inherited, "PYTHONPATH": packages, **environment},
        capture_output=True,
        text=True,
        timeout=900,  # Spark's JARs may have to be fetched
        check=False,
    )
    return _without_keys(environment, Ended(done.returncode, done.stdout, done.stderr))


def _without_keys(environment: Mapping[str, str], ended: Ended) -> Ended:
    """The same, once it is sure that nothing in it is a key."""
    said = ended.out + ended.errors
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN"):
        assert environment.get(name, "no such key") not in said
    assert s3_server.ACCESS_KEY not in said
    assert s3_server.SECRET_KEY not in said
    return ended


@pytest.fixture(scope="module")
def lake(s3: S3Server) -> str:
    """A lake on S3, of the sample disk on S3."""
    shutil.copytree(_DISK, s3.make_bucket("command-disks") / "broker-0", dirs_exist_ok=True)
    s3.make_bucket("command-lakes")
    source = ("--source", "s3://command-disks/broker-0")
    place = ("--lake", "s3://command-lakes/lake")
    ended = seglake(s3.environment(), "ingest", *source, *place, *_LOCAL, "-vv")
    assert ended.code == 3  # two batches are damaged
    assert "2070 records in 229 batches" in ended.out
    return place[1]


def test_audit_on_s3_compares_lake_and_disk(s3: S3Server, lake: str) -> None:
    arguments = ("--lake", lake, "--source", "s3://command-disks", *_LOCAL, "--json")
    ended = in_process(s3.environment(), ("audit", *arguments))
    assert ended.code == 0
    facts = json.loads(ended.out)
    assert facts["exit_code"] == 0
    assert facts["disks"]


def test_replay_on_s3_fills_a_gap_from_another_copy(s3: S3Server) -> None:
    bucket = s3.make_bucket("replay")
    sound, damaged = bucket / "sound", bucket / "damaged"
    shutil.copytree(_DISK, sound)
    shutil.copytree(_DISK, damaged)
    segment = next((damaged / "v1-gzip-0").glob("*.log"), None) or next(
        path for path in sorted(damaged.glob("*/*.log")) if path.stat().st_size > 4000
    )
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    lake, environment = ("--lake", "s3://replay/lake"), s3.environment()
    first = in_process(
        environment, ("ingest", "--source", "s3://replay/damaged", *lake, *_LOCAL, "--json")
    )
    assert first.code == 3
    took = json.loads(first.out)["records"]
    filled = in_process(
        environment, ("replay", "--source", "s3://replay/sound", *lake, *_LOCAL, "--json")
    )
    assert filled.code == 0
    brought = json.loads(filled.out)["repaired_records"]
    assert brought > 0
    assert len(read_table(bucket / "lake", "records")) == took + brought


def test_latest_on_s3_replaces_the_files_in_which_a_row_changes(
    s3: S3Server, tmp_path: Path
) -> None:
    s3.make_bucket("latest")
    lake, environment = ("--lake", "s3://latest/lake"), s3.environment()
    log: list[Values] = [("a", b"1"), ("b", b"1")]
    for more in ((), (("a", b"2"), ("b", None), ("c", b"1"))):
        log += more
        disk = write(tmp_path / "disk", *log)
        for command in (("ingest", "--source", str(disk), *_LOCAL), ("latest", "--topics=orders")):
            assert in_process(environment, (*command, *lake, "--json")).code == 0
    found = seglake(environment, "sql", *lake, "--json", "SELECT key, value FROM latest_orders")
    assert sorted(found.out.splitlines()) == [
        '{"key":"YQ==","value":"Mg=="}',
        '{"key":"Yw==","value":"MQ=="}',
    ]
    shutil.copytree(s3.make_bucket("latest") / "lake", tmp_path / "copy")
    assert len(assert_current(tmp_path / "copy", "orders")) == 3


def test_erase_on_s3_leaves_no_byte_of_the_records(s3: S3Server) -> None:
    bucket, environment = s3.make_bucket("erasures"), s3.environment()
    people_disk(bucket / "disk", 20)
    lake = ("--lake", "s3://erasures/lake")
    call = ("erase", *lake, "--topics", "orders", "--key", "ann's key", *_LOCAL)
    ingest = ("ingest", "--source", "s3://erasures/disk", *lake, *_LOCAL)
    assert in_process(environment, ingest).code == 0
    assert in_process(environment, ("latest", *lake, "--topics", "*")).code == 0
    dry = in_process(environment, (*call, "--purge", "--dry-run", "--json"))
    paths = json.loads(dry.out)["purged"]["paths"]
    assert {path.split("/")[4] for path in paths} == {"records", "latest"}
    erased = in_process(environment, (*call, "--purge"))
    assert (erased.code, erased.out.splitlines()[0][:25]) == (0, "7 records of 1 topic eras")
    assert places_of(bucket / "lake" / "records" / "topic=orders", b"secret of ann") == []
    assert places_of(bucket / "lake" / "latest" / "orders", b"secret of ann") == []
    assert (
        in_process(environment, ("ingest", "--source", "s3://erasures/disk", *lake, *_LOCAL)).code
        == 0
    )
    rows = [row for row in read_table(bucket / "lake", "records") if row["topic"] == "orders"]
    assert sorted(row["offset"] for row in rows) == [n for n in range(20) if n % 3]
    assert in_process(environment, ("audit", *lake, *_LOCAL)).code == 0


def test_inspect_reads_segments_on_s3(s3: S3Server, lake: str) -> None:
    local = in_process({}, ("inspect", str(_DISK / "v2-none-1"), "--json"))
    there = in_process(
        s3.environment(), ("inspect", "s3a://command-disks/broker-0/v2-none-1", "--json")
    )
    assert there.code == 0
    place, here = "s3://command-disks/broker-0", str(_DISK)
    assert there.out.replace(place, here) == local.out


def test_inspect_takes_the_settings_that_lead_to_a_store(s3: S3Server, lake: str) -> None:
    keys = s3.hadoop().items()
    options = [f"--set=spark.properties.spark.hadoop.{name}={value}" for name, value in keys]
    place = "s3a://command-disks/broker-0/v2-none-1"
    with_settings = in_process({}, ("inspect", place, "--json", *options))
    assert with_settings.code == 0
    assert with_settings == in_process(s3.environment(), ("inspect", place, "--json"))


def test_cat_prints_what_lies_on_s3_as_it_prints_disks(s3: S3Server, lake: str) -> None:
    environment = s3.environment()
    local = in_process({}, ("cat", "--source", str(_DISK)))
    there = in_process(environment, ("cat", "--source", "s3a://command-disks/broker-0"))
    assert (there.out, there.code) == (local.out, local.code)
    of_lake = in_process(environment, ("cat", "--lake", lake))
    assert sorted(of_lake.out.splitlines()) == sorted(local.out.splitlines())
    assert of_lake.code == 3  # gaps of damaged batches


_COUNT = "SELECT count(*) AS n, count(DISTINCT topic) AS topics FROM records"


def test_sql_asks_a_lake_on_s3_without_a_word_of_spark(s3: S3Server, lake: str) -> None:
    one_topic = "SELECT max(offset) AS last FROM topic_v2_zstd WHERE partition = 1"
    ended = seglake(s3.environment(), "sql", "--lake", lake, f"{_COUNT}; {one_topic}", "--json")
    assert ended.errors == ""
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert rows == [{"n": 2070, "topics": 6}, {"last": 257}]


@pytest.mark.spark
def test_sql_asks_a_lake_on_s3_in_spark(s3: S3Server, lake: str) -> None:
    ended = seglake(
        s3.environment(), "sql", "--lake", lake, _COUNT, "--json", "-vv", "--engine", "spark"
    )
    assert ended.code == 0, ended.errors[-2000:]
    assert json.loads(ended.out) == {"n": 2070, "topics": 6}


@pytest.mark.spark
def test_spark_submit_hands_over_what_it_was_told(s3: S3Server, bucket: str) -> None:
    told = {
        **{f"spark.hadoop.{name}": value for name, value in s3.hadoop().items()},
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    job = ("jobs/ingest_segments.py", "--source", str(_DISK), "--lake", f"s3a://{bucket}/lake")
    options = [part for name, value in told.items() for part in ("--conf", f"{name}={value}")]
    java = dict(os.environ)
    provide_java(java)
    environment = {
        "JAVA_HOME": java["JAVA_HOME"],
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    submit = Path(environment["SPARK_HOME"], "bin", "spark-submit")
    ended = _run(environment, [submit, "--master", "local[2]", *options, *job])
    assert ended.code == 3, ended.errors[-2000:]
    assert "2070 records in 229 batches" in ended.out


@contextmanager
def _silent_server() -> Iterator[str]:
    """An endpoint that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(50)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


_REACHES: Mapping[str, Sequence[str]] = {
    "ingest": ("ingest", "--source", str(_DISK), "--lake", "s3://{bucket}/lake", *_LOCAL),
    "ingest as parquet": (
        *("ingest", "--source", str(_DISK), "--lake", "s3://{bucket}/lake", *_LOCAL),
        *("--format", "parquet"),
    ),
    "ingest from": ("ingest", "--source", "s3://{bucket}/disk", "--lake", "{tmp}/lake", *_LOCAL),
    "audit": ("audit", "--lake", "s3://{bucket}/lake", *_LOCAL),
    "audit against": (
        *("audit", "--lake", "{tmp}/lake", "--source", "s3://{bucket}/disk", *_LOCAL),
    ),
    "replay": ("replay", "--lake", "s3://{bucket}/lake", *_LOCAL),
    "inspect": ("inspect", "s3://{bucket}/disk"),
    "sql": ("sql", "--lake", "s3://{bucket}/lake", "SELECT 1"),
}
_SILENT, _REFUSES = 1, 2


@pytest.mark.parametrize("command", _REACHES)
@pytest.mark.parametrize(
    ("wrong", "code", "reason"),
    [
        (
            {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
            _SILENT,
            "nothing listens at http://127.0.0.1:1",
        ),
        (
            {"AWS_ENDPOINT_URL": "http://no-such-host.invalid"},
            _SILENT,
            "the host of http://no-such-host.invalid is unknown",
        ),
        ({"AWS_SECRET_ACCESS_KEY": "wrong-secret-1c5e"}, _REFUSES, "refuses the secret key"),
        ({"AWS_ACCESS_KEY_ID": "wrong-key-77ab"}, _REFUSES, "the access key is unknown"),
        ({"bucket": "no-such-bucket"}, _REFUSES, "there is no bucket no-such-bucket at http"),
        ({"AWS_ENDPOINT_URL": "ftp://host"}, _REFUSES, "its endpoint is not a URL"),
    ],
)
def test_a_wrong_endpoint_key_or_bucket_is_told_in_a_paragraph_with_one_code_for_all_sides(
    s3: S3Server,
    bucket: str,
    tmp_path: Path,
    command: str,
    wrong: Mapping[str, str],
    code: int,
    reason: str,
) -> None:
    places = {"bucket": bucket, "tmp": str(tmp_path), **wrong}
    arguments = [part.format_map(places) for part in _REACHES[command]]
    started = time.monotonic()
    ended = in_process({**s3.environment(), **wrong}, arguments)
    assert ended.code == code
    assert reason in ended.errors
    assert ended.errors.startswith("seglake: ")
    assert ended.errors.count("\n") == 1
    assert ended.errors.count(f"s3://{places['bucket']}") == 1
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("command", _REACHES)
def test_half_a_key_is_a_wrong_call_though_the_environment_has_a_whole_one(
    s3: S3Server, bucket: str, tmp_path: Path, command: str
) -> None:
    conf = write_conf(tmp_path / "conf", {f"fs.s3a.bucket.{bucket}.access.key": "half-a-key-41c0"})
    arguments = [part.format(bucket=bucket, tmp=tmp_path) for part in _REACHES[command]]
    ended = in_process({**s3.environment(), "HADOOP_CONF_DIR": str(conf)}, arguments)
    assert ended.code == _REFUSES
    assert f"fs.s3a.bucket.{bucket}.secret.key is not set" in ended.errors
    assert ended.errors.count("\n") == 1
    assert "half-a-key" not in ended.errors


def test_no_permission_is_told_in_a_paragraph(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with s3_server.versitygw(tmp_path_factory.mktemp("read-only"), "--readonly") as server:
        server.make_bucket("bucket")
        arguments = ("ingest", "--source", str(_DISK), "--lake", "s3://bucket/lake", *_LOCAL, "-vv")
        ended = in_process(server.environment(), arguments)
    assert ended.code == _REFUSES
    assert "denies the access (AccessDenied, HTTP 403)" in ended.errors


@pytest.mark.parametrize("command", _REACHES)
def test_a_silent_endpoint_is_given_up(
    s3: S3Server, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("SILENCE_SECONDS", "REQUEST_SECONDS", "RETRY_SECONDS"):
        monkeypatch.setattr(s3_access, limit, 1)
    _give_up(s3, tmp_path, command)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["ingest", "ingest from"])
def test_a_silent_endpoint_is_given_up_within_a_minute(
    s3: S3Server, tmp_path: Path, command: str
) -> None:
    started = time.monotonic()
    _give_up(s3, tmp_path, command)
    assert time.monotonic() - started < 60


def _give_up(s3: S3Server, folder: Path, command: str) -> None:
    with _silent_server() as endpoint:
        environment = {**s3.environment(), "AWS_ENDPOINT_URL": endpoint}
        arguments = [part.format(bucket="silent", tmp=folder) for part in _REACHES[command]]
        ended = in_process(environment, arguments)
    assert ended.code == _SILENT
    assert "does not answer in time" in ended.errors
