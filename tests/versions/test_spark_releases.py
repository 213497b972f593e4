"""Each release of Spark makes the same tables, row for row."""

import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.errors import ExitCode
from seglake.lake.tables import TABLES
from support.other_versions import (
    RELEASES,
    distribution,
    said,
    seglake,
    submitted,
    with_lowest_versions,
    with_newest_versions,
    with_spark,
    with_spark_before,
    without_spark,
)
from versions.conftest import Ran

pytestmark = [pytest.mark.versions, pytest.mark.timeout(1800)]

_SOURCE = "samples/broker-0"
_OF_A_RUN = {
    *("run_id", "attempt_id", "quarantined_at", "committed_at", "observed_at", "waiting_since"),
    *("listing", "listed_at"),
}
_WITH_DELTA = RELEASES[:-1]
_SQL = "SELECT count(*) AS n FROM readable_records WHERE value_json IS NULL"


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
    ran.add(python, version, "same tables as local processes", "seglake ingest --engine spark")


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_every_command_runs_on_every_spark(
    release: str, expected: dict[str, list[str]], tmp_path: Path, ran: Ran
) -> None:
    python = with_spark(release)
    version = said(python, "-c", "import pyspark; print(pyspark.__version__)")
    lake = tmp_path / "lake"
    job = submitted(python, *ingest(lake, "spark")[1:])
    assert job.returncode == ExitCode.LOOK, job.stderr
    assert rows(lake) == expected
    ran.add(python, version, "same tables by a job", "spark-submit ingest_segments.py")
    for command in ("audit", "replay", "retake", "maintain"):
        source = ["--source", _SOURCE] if command != "maintain" else []
        done = seglake(python, command, "--lake", str(lake), "--engine", "spark", *source)
        assert done.returncode == ExitCode.DONE, (command, done.stderr)
    commands = "seglake audit, replay, retake, maintain --engine spark"
    ran.add(python, version, "the other commands that write or prove", commands)


@pytest.mark.slow
@pytest.mark.parametrize("release", _WITH_DELTA)
def test_views_answer_on_every_spark_that_has_a_delta(
    release: str, tmp_path: Path, ran: Ran
) -> None:
    python = with_spark(release)
    version = said(python, "-c", "import pyspark; print(pyspark.__version__)")
    lake = tmp_path / "lake"
    seglake(python, *ingest(lake, "local"))
    sql = ["sql", "--lake", str(lake), "--csv", _SQL]
    by_spark, by_duckdb = (seglake(python, *sql, "--engine", each) for each in ("spark", "duckdb"))
    assert by_spark.returncode == ExitCode.DONE, by_spark.stderr
    assert by_spark.stdout == by_duckdb.stdout
    ran.add(python, version, "the views, as DuckDB answers", "seglake sql --engine spark")


@pytest.mark.slow
def test_sql_on_the_newest_spark_says_what_to_do_without_a_delta(tmp_path: Path) -> None:
    python = with_spark(RELEASES[-1])
    lake = tmp_path / "lake"
    seglake(python, *ingest(lake, "local"))
    done = seglake(python, "sql", "--lake", str(lake), "--engine", "spark", _SQL)
    assert done.returncode == ExitCode.FAILED
    assert f"seglake knows no Delta for Spark {RELEASES[-1]}." in done.stderr
    assert "--engine duckdb" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("end", ["lowest", "newest"])
def test_both_ends_of_the_ranges_make_the_same_tables(
    end: str, expected: dict[str, list[str]], tmp_path: Path, ran: Ran
) -> None:
    python = with_lowest_versions() if end == "lowest" else with_newest_versions()
    version = said(python, "-c", "import pyspark; print(pyspark.__version__)")
    for engine in ("local", "spark"):
        done = seglake(python, *ingest(tmp_path / engine, engine))
        assert done.returncode == ExitCode.LOOK, done.stderr
        assert rows(tmp_path / engine) == expected
    audit = seglake(python, "audit", "--lake", str(tmp_path / "local"), "--source", _SOURCE)
    assert audit.returncode == ExitCode.DONE, audit.stderr
    what = f"the {end} version of every package: same tables, both engines"
    ran.add(python, version, what, "seglake ingest")


@pytest.mark.slow
def test_an_installed_pyspark_stays(tmp_path: Path, ran: Ran) -> None:
    python = with_spark_before(RELEASES[0])
    version = said(python, "-c", "import pyspark; print(pyspark.__version__)")
    assert version.startswith(f"{RELEASES[0]}.")
    done = seglake(python, *ingest(tmp_path / "lake", "spark"))
    assert done.returncode == ExitCode.LOOK, done.stderr
    ran.add(python, version, "an installed PySpark stays", "pip install .")


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
        version = said(its, "-c", "import pyspark; print(pyspark.__version__)")
        installed = "pip install -r requirements-cluster.txt && pip install --no-deps ."
        ran.add(python, version, "SPARK_HOME names it, pip brought none", installed)
