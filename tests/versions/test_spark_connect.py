"""Spark Connect and serverless Spark: what a client of a real server can do, and what it cannot.

From Spark 4.0 on the client's PySpark is `pyspark-client`, which has neither a JVM nor RDDs.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from seglake.errors import ExitCode
from seglake.spark_features import PYTHON_DATA_SOURCES, release_of
from support.other_versions import RELEASES, ROOT, said, seglake, with_connect_client, with_spark
from support.servers.connect_server import connect_server
from versions.conftest import Ran

pytestmark = [pytest.mark.versions, pytest.mark.slow, pytest.mark.timeout(1800)]

_SOURCE = ROOT / "samples" / "broker-0"
_RECORDS = 2070
_CLIENTS_ALONE = (4, 0)  # the first release with a PySpark that is a client alone
_WITHOUT_DELTA = RELEASES[-1]
_CLIENTS = {RELEASES[-1]: RELEASES[-2]}  # pip has no client of the newest release yet
_REFUSED = "no command of seglake runs on Spark Connect or serverless Spark: they have no RDDs"
_SESSION = """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
"""
_READS_TABLES = """
for statement in sys.argv[3].split(";\\n"):
    if statement.strip():
        spark.sql(statement)
records = spark.read.format("delta").load(f"{sys.argv[2]}/records").count()
views = spark.sql("SELECT count(*) AS n FROM connected.readable_records").collect()[0].n
print(json.dumps([int(records), views]))
"""
_READS_SEGMENTS = """
frame = spark.read.format("kafka_segments").option("failOnDataLoss", "false").load(sys.argv[2])
some = frame.where("topic = 'v2-zstd' AND partition = 0 AND offset < 5").select("offset")
print(json.dumps([frame.count(), sorted(row.offset for row in some.collect())]))
"""
_CALLS_SEGLAKE = """
import seglake
try:
    seglake.ingest(sys.argv[2], sys.argv[3])
except seglake.WrongCallError as error:
    refused = str(error)
print(json.dumps([refused, seglake.ingest(sys.argv[2], sys.argv[4], engine="local").exit_code]))
"""


class Connected(NamedTuple):
    """A server of a release, and the Python of a client of the same release, if there is one."""

    release: str
    server: Path
    client: Path
    url: str
    folder: Path

    # Any: what JSON holds.
    def ask(self, script: str, *arguments: Path | str) -> Any:
        """Run a script in the client, after its session has begun, and return what it prints."""
        file = self.folder / "script.py"  # PySpark takes `python -c` for a doctest
        file.write_text(_SESSION + script, "utf-8")
        words = [str(file), self.url, *map(str, arguments)]
        lines = said(self.client, *words, libs=ROOT / "libs")
        return json.loads(lines.splitlines()[-1])


# 3.5.7 is the newest 3.5 whose server was to be had: unlike later ones, it is a JAR of its own.
@pytest.fixture(scope="module", params=["3.5.7", *RELEASES[1:]])
def connected(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connected]:
    release = request.param
    python, client = with_spark(release), with_connect_client(_CLIENTS.get(release, release))
    folder = tmp_path_factory.mktemp("connect")
    with connect_server(python, folder, has_delta=release != _WITHOUT_DELTA) as url:
        yield Connected(release, python, client, url, folder)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("read") / "lake"
    source = ["--source", str(_SOURCE), "--engine", "local"]
    done = seglake(Path(sys.executable), "ingest", *source, "--lake", str(folder))
    assert done.returncode == ExitCode.LOOK, done.stderr
    return folder


def test_a_client_reads_the_tables_and_makes_their_views_where_there_is_a_delta(
    connected: Connected, lake: Path, ran: Ran
) -> None:
    register = ("register", "--lake", str(lake), "--database", "connected", "--print")
    printed = seglake(connected.client, *register)
    assert printed.returncode == ExitCode.DONE, printed.stderr
    has_delta = connected.release != _WITHOUT_DELTA
    if has_delta:
        assert connected.ask(_READS_TABLES, lake, printed.stdout) == [_RECORDS, _RECORDS]
    else:
        with pytest.raises(RuntimeError, match=r"DATA_SOURCE_NOT_FOUND.*delta"):
            connected.ask(_READS_TABLES, lake, printed.stdout)
    command = "seglake register --print"
    ran.add(connected.server, "Connect: tables and views are read", command, works=has_delta)


def test_a_client_reads_segments_where_the_server_s_python_has_seglake(
    connected: Connected, ran: Ran
) -> None:
    has_sources = release_of(connected.release) >= PYTHON_DATA_SOURCES
    if has_sources:
        assert connected.ask(_READS_SEGMENTS, _SOURCE) == [_RECORDS, [0, 1, 2, 3, 4]]
    else:
        with pytest.raises(RuntimeError, match=r"DATA_SOURCE_NOT_FOUND.*kafka_segments"):
            connected.ask(_READS_SEGMENTS, _SOURCE)
    command = 'spark.read.format("kafka_segments")'
    ran.add(connected.server, "Connect: segments are read", command, works=has_sources)


@pytest.mark.parametrize("command", ["ingest", "audit", "replay", "retake", "maintain", "sql"])
def test_no_command_runs_on_connect_and_nothing_is_touched(
    command: str, connected: Connected, lake: Path, tmp_path: Path, ran: Ran
) -> None:
    place = tmp_path / "new" if command == "ingest" else lake
    before = sorted(lake.rglob("*"))
    source = {"maintain": [], "sql": ["SELECT 1"]}.get(command, ["--source", str(_SOURCE)])
    called = [command, "--lake", str(place), "--engine", "spark", *source]
    can_start = release_of(connected.release) < _CLIENTS_ALONE
    named = {"SPARK_REMOTE": connected.url} if can_start else {}
    ends = (
        seglake(connected.client, *called, variables=named),
        seglake(connected.server, *called, variables={"SPARK_REMOTE": connected.url}),
        seglake(connected.server, *called, "--master", connected.url),
    )
    for end in ends:
        assert (end.returncode, end.stdout) == (ExitCode.WRONG_CALL, ""), end.stderr
        assert _REFUSED in end.stderr
        assert "Use the engine local" in end.stderr
    assert sorted(lake.rglob("*")) == before
    assert not (tmp_path / "new").exists()
    if not can_start:
        warmed = seglake(connected.client, "warm-up", "--quiet")
        assert warmed.returncode == ExitCode.LOOK
        assert "nothing is prepared for Spark" in warmed.stderr
    what = "Connect: commands that start Spark"
    ran.add(connected.server, what, "seglake ingest --engine spark", works=False)


def test_a_notebook_with_a_session_of_connect_ingests_by_local_processes(
    connected: Connected, tmp_path: Path, ran: Ran
) -> None:
    refused, code = connected.ask(_CALLS_SEGLAKE, _SOURCE, tmp_path / "a", tmp_path / "b")
    assert _REFUSED in refused
    assert not (tmp_path / "a").exists()
    assert code == ExitCode.LOOK
    what = "Connect: local processes ingest beside a session"
    ran.add(connected.server, what, 'seglake.ingest(…, engine="local")')
