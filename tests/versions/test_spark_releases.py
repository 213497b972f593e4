"""Each release of Spark makes the same tables, row for row."""

import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.errors import ExitCode
from seglake.lake.tables import TABLES
from support.other_versions import (
    RELEASES,
    ROOT,
    distribution,
    java_home,
    said,
    seglake,
    submitted,
    with_lowest_versions,
    with_newest_versions,
    with_python,
    with_spark,
    with_spark_before,
    without_spark,
)
from support.servers.maven_jars import maven_jars
from versions.conftest import Ran

pytestmark = [pytest.mark.versions, pytest.mark.timeout(1800)]

_SOURCE = "samples/broker-0"
_OF_A_RUN = {
    *("run_id", "attempt_id", "quarantined_at", "committed_at", "observed_at", "waiting_since"),
    *("listing", "listed_at"),
}
_WITH_DELTA = RELEASES[:-1]
_SQL = "SELECT count(*) AS n FROM readable_records WHERE value_json IS NULL"
_READ_SEGMENTS = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.python.filterPushdown.enabled", sys.argv[2])
frame = spark.read.format("kafka_segments").option("failOnDataLoss", "false").load(sys.argv[1])
some = frame.where("topic = 'v2-zstd' AND partition = 0 AND offset < 5").select("offset")
print(frame.count(), sorted(row.offset for row in some.collect()))
"""


def rows(lake: Path) -> dict[str, list[str]]:
    """The rows of each table without what each run makes anew, in an order of their own."""
    found = {}
    for table in TABLES:
        if (lake / table.name).exists():
            read = DeltaTable(str(lake / table.name)).to_pyarrow_table()
            kept = [name for name in read.column_names if name not in _OF_A_RUN]
            found[table.name] = sorted(map(repr, read.select(kept).to_pylist()))
    return found


def ingest(lake: Path, engine: str) -> list[str]:
    """The arguments of an ingest of the sample disk."""
    return ["ingest", "--source", _SOURCE, "--lake", str(lake), "--engine", engine]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The rows that local processes make, with the versions that are pinned."""
    lake = tmp_path_factory.mktemp("expected") / "lake"
    done = seglake(Path(sys.executable), *ingest(lake, "local"))
    assert done.returncode == ExitCode.LOOK, done.stderr
    made = rows(lake)
    assert len(made["records"]) == 2070
    return made


@pytest.mark.parametrize("release", [RELEASES[0], RELEASES[-1]])
def test_the_oldest_and_the_newest_spark_make_the_same_tables(
    release: str, expected: dict[str, list[str]], tmp_path: Path, ran: Ran
) -> None:
    python = with_spark(release)
    version = said(python, "-c", "import pyspark; print(pyspark.__version__)")
    assert version.startswith(f"{release}.")
    lake = tmp_path / "lake"
    done = seglake(python, *ingest(lake, "spark"))
    assert done.returncode == ExitCode.LOOK, done.stderr
    assert rows(lake) == expected
    ran.add(python, "same tables as local processes", "seglake ingest --engine spark")


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_every_command_runs_on_every_spark(
    release: str, expected: dict[str, list[str]], tmp_path: Path, ran: Ran
) -> None:
    python = with_spark(release)
    lake = tmp_path / "lake"
    job = submitted(python, *ingest(lake, "spark")[1:])
    assert job.returncode == ExitCode.LOOK, job.stderr
    assert rows(lake) == expected
    ran.add(python, "same tables by a job", "spark-submit ingest_segments.py")
    for command in ("audit", "replay", "retake", "maintain"):
        source = ["--source", _SOURCE] if command != "maintain" else []
        done = seglake(python, command, "--lake", str(lake), "--engine", "spark", *source)
        assert done.returncode == ExitCode.DONE, (command, done.stderr)
    commands = "seglake audit, replay, retake, maintain --engine spark"
    ran.add(python, "the other commands that write or prove", commands)


@pytest.mark.slow
@pytest.mark.parametrize("release", _WITH_DELTA)
def test_views_answer_on_every_spark_that_has_a_delta(
    release: str, tmp_path: Path, ran: Ran
) -> None:
    python = with_spark(release)
    lake = tmp_path / "lake"
    seglake(python, *ingest(lake, "local"))
    sql = ["sql", "--lake", str(lake), "--csv", _SQL]
    by_spark, by_duckdb = (seglake(python, *sql, "--engine", each) for each in ("spark", "duckdb"))
    assert by_spark.returncode == ExitCode.DONE, by_spark.stderr
    assert by_spark.stdout == by_duckdb.stdout
    ran.add(python, "the views, as DuckDB answers", "seglake sql --engine spark")


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES[1:])
def test_segments_are_read_without_tables_from_spark_4_on(
    release: str, tmp_path: Path, ran: Ran
) -> None:
    python = with_spark(release)
    script = tmp_path / "read_segments.py"
    script.write_text(_READ_SEGMENTS, "utf-8")
    for pushes in ("false", "true"):
        read = said(python, str(script), str(ROOT / _SOURCE), pushes, libs=ROOT / "libs")
        assert read.splitlines()[-1] == "2070 [0, 1, 2, 3, 4]"
    ran.add(python, "segments are read", 'spark.read.format("kafka_segments")')


@pytest.mark.slow
def test_sql_on_the_newest_spark_says_what_to_do_without_a_delta(tmp_path: Path, ran: Ran) -> None:
    python = with_spark(RELEASES[-1])
    lake = tmp_path / "lake"
    seglake(python, *ingest(lake, "local"))
    done = seglake(python, "sql", "--lake", str(lake), "--engine", "spark", _SQL)
    assert done.returncode == ExitCode.FAILED
    assert f"seglake knows no Delta for Spark {RELEASES[-1]}." in done.stderr
    assert "--engine duckdb" in done.stderr
    ran.add(python, "the views", "seglake sql --engine spark", works=False)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["lowest", "newest"])
def test_both_ends_of_the_ranges_make_the_same_tables(
    end: str, expected: dict[str, list[str]], tmp_path: Path, ran: Ran
) -> None:
    python = with_lowest_versions() if end == "lowest" else with_newest_versions()
    for engine in ("local", "spark"):
        done = seglake(python, *ingest(tmp_path / engine, engine))
        assert done.returncode == ExitCode.LOOK, done.stderr
        assert rows(tmp_path / engine) == expected
    audit = seglake(python, "audit", "--lake", str(tmp_path / "local"), "--source", _SOURCE)
    assert audit.returncode == ExitCode.DONE, audit.stderr
    what = f"the {end} version of every package: same tables, both engines"
    ran.add(python, what, "seglake ingest")


@pytest.mark.slow
def test_an_installed_pyspark_stays(tmp_path: Path, ran: Ran) -> None:
    python = with_spark_before(RELEASES[0])
    version = said(python, "-c", "import pyspark; print(pyspark.__version__)")
    assert version.startswith(f"{RELEASES[0]}.")
    done = seglake(python, *ingest(tmp_path / "lake", "spark"))
    assert done.returncode == ExitCode.LOOK, done.stderr
    ran.add(python, "an installed PySpark stays", "pip install .")


@pytest.mark.slow
def test_a_spark_that_pip_did_not_bring_is_used(
    expected: dict[str, list[str]], tmp_path: Path, ran: Ran
) -> None:
    python = without_spark()
    lacking = seglake(python, *ingest(tmp_path / "none", "spark"))
    assert lacking.returncode == ExitCode.FAILED
    assert "this Python has no PySpark" in lacking.stderr
    for release in (RELEASES[0], RELEASES[-1]):
        its = with_spark(release)
        home = distribution(tmp_path / release, its)
        done = seglake(python, *ingest(tmp_path / release / "lake", "spark"), home=home)
        assert done.returncode == ExitCode.LOOK, done.stderr
        assert rows(tmp_path / release / "lake") == expected
        installed = "pip install -r requirements-cluster.txt && pip install --no-deps ."
        ran.add(its, "SPARK_HOME names it, pip brought none", installed)


@pytest.mark.slow
def test_a_spark_of_scala_2_13_makes_the_same_tables_and_views(
    expected: dict[str, list[str]], tmp_path: Path, ran: Ran
) -> None:
    python = with_spark(RELEASES[0])
    version = said(python, "-c", "import pyspark; print(pyspark.__version__)")
    parts = [f"org.apache.spark:spark-{part}_2.13:{version}" for part in ("core", "sql")]
    parts += [f"com.fasterxml.jackson.core:jackson-{part}:2.15.2" for part in ("core", "databind")]
    home = distribution(tmp_path, python, jars=maven_jars(f"spark-{version}-scala-2.13", parts))
    lake = tmp_path / "lake"
    done = seglake(without_spark(), *ingest(lake, "spark"), home=home)
    assert done.returncode == ExitCode.LOOK, done.stderr
    assert rows(lake) == expected
    sql = ["sql", "--lake", str(lake), "--csv", _SQL]
    by_spark = seglake(without_spark(), *sql, "--engine", "spark", home=home)
    by_duckdb = seglake(without_spark(), *sql, "--engine", "duckdb")
    assert by_spark.returncode == ExitCode.DONE, by_spark.stderr
    assert by_spark.stdout == by_duckdb.stdout
    commands = "SPARK_HOME=… seglake ingest, sql --engine spark"
    ran.add(python, "same tables and views", commands, scala="2.13")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("minor", "release"), [("3.12", RELEASES[0]), ("3.12", RELEASES[-1]), ("3.13", RELEASES[-1])]
)
def test_a_newer_python_makes_the_same_tables(
    minor: str, release: str, expected: dict[str, list[str]], tmp_path: Path, ran: Ran
) -> None:
    python = with_python(minor, release)
    for engine in ("local", "spark"):
        done = seglake(python, *ingest(tmp_path / engine, engine))
        assert done.returncode == ExitCode.LOOK, done.stderr
        assert rows(tmp_path / engine) == expected
    ran.add(python, "same tables, both engines", "pip install . && seglake ingest")


@pytest.mark.slow
@pytest.mark.parametrize("java", [21, 25])
@pytest.mark.parametrize("release", [RELEASES[0], RELEASES[-1]])
def test_a_newer_java_runs_spark_or_is_said_to_be_too_new_for_it(
    java: int,
    release: str,
    expected: dict[str, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ran: Ran,
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(java)))
    python, works = with_spark(release), (java, release) != (25, RELEASES[0])
    done = seglake(python, *ingest(tmp_path / "lake", "spark"))
    if works:
        assert done.returncode == ExitCode.LOOK, done.stderr
        assert rows(tmp_path / "lake") == expected
    else:
        assert done.returncode == ExitCode.FAILED
        assert f"This Java is too new for Spark {release}." in done.stderr
    ran.add(python, "same tables as local processes", "seglake ingest --engine spark", works=works)
