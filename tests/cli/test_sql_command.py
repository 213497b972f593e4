"""`seglake sql`: where statements come from, how answers leave, which engine is asked."""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from seglake.cli import sql_command, sql_engines
from seglake.cli.arguments import parser_of
from seglake.environment import spark_session
from seglake.environment.spark_submit import is_submitted
from seglake.lake.delta_tables import LakeTables
from seglake.pipelines.lake_query import spark_queries
from seglake.settings.settings import SparkSettings
from support.written_lake import write_lake

_TOPICS = "SELECT topic, count(*) AS n FROM records GROUP BY topic ORDER BY topic"
_LINES = '{"topic":"my.orders-EU","n":2}\n{"topic":"orders","n":1}\n'


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("sql") / "lake"
    write_lake(path)
    return str(path)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What Spark is told; none is started, and it answers nothing."""
    given: dict[str, object] = {}

    @contextmanager
    def session(settings: SparkSettings, **named: object) -> Iterator[None]:
        given.update(named, master=settings.master)
        yield

    monkeypatch.setattr(spark_session, "delta_session", session)
    monkeypatch.setattr(spark_queries.SparkQueries, "write", lambda *rest: None)
    return given


def test_statement_is_an_argument_a_file_or_stdin(
    lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "topics.sql").write_text(f"{_TOPICS};\n", "utf-8")
    for given in ([_TOPICS], ["-f", str(tmp_path / "topics.sql")], ["-f", "-"], []):
        monkeypatch.setattr(sys, "stdin", io.StringIO(_TOPICS))
        assert sql_command.main(["--lake", lake, "--json", *given]) == 0
        assert capsys.readouterr() == (_LINES, "")


def test_statements_are_answered_one_after_the_other(
    lake: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sql_command.main(["--lake", lake, "--csv", "SELECT 1 AS a; SELECT 'x;y' AS b;"]) == 0
    assert capsys.readouterr().out == "a\n1\nb\nx;y\n"


def test_answer_may_be_a_parquet_file(
    lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "topics.parquet"
    assert sql_command.main(["--lake", lake, "--parquet", str(target), _TOPICS]) == 0
    assert capsys.readouterr() == ("", f"2 rows in {target}\n")
    rows = [json.loads(line) for line in _LINES.splitlines()]
    assert pq.read_table(target).to_pylist() == rows


def test_parquet_file_is_whole_or_as_it_was(lake: str, tmp_path: Path) -> None:
    target = tmp_path / "old.parquet"
    target.write_text("old", "utf-8")
    failing = "SELECT CAST(topic AS INT) FROM records"
    assert sql_command.main(["--lake", lake, "--parquet", str(target), failing]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["old.parquet"]
    assert target.read_text("utf-8") == "old"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["SELECT 1; DROP TABLE records"], "only reads, and does not run DROP: give a SELECT"),
        (["-- nothing"], "there is no statement: give a SELECT"),
        (["SELECT 1", "-f", "x"], "give a statement or --file, not both"),
        (["-f", "/no/such.sql"], "cannot read /no/such.sql: No such file or directory"),
        (["--parquet", "x", "SELECT 1; SELECT 2"], "--parquet takes one statement, got 2"),
        (["--parquet", "/no/x", "SELECT 1"], "cannot write /no/x: there is no such folder"),
        (["--parquet", "/dev/null", "SELECT 1"], "cannot write /dev/null: it is no regular file"),
        (["--engine", "duckdb", "--master", "local[1]", "SELECT 1"], "duckdb runs no Spark"),
        (["SELECT * FROM recrods"], "no table or view recrods; did you mean records?"),
    ],
)
def test_wrong_call_ends_with_2_and_answers_nothing(
    given: list[str], said: str, lake: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sql_command.main(["--lake", lake, *given]) == 2
    out, errors = capsys.readouterr()
    assert (out, len(errors.splitlines())) == ("", 1)
    assert said in errors


def test_file_that_is_no_text_ends_with_2(lake: str, tmp_path: Path) -> None:
    (tmp_path / "x.sql").write_bytes(b"SELECT '\xff'")
    assert sql_command.main(["--lake", lake, "-f", str(tmp_path / "x.sql")]) == 2


def test_place_that_is_no_lake_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sql_command.main(["--lake", str(tmp_path), "SELECT 1"]) == 2
    assert "is not a lake: it has no table records" in capsys.readouterr().err


def test_spark_answers_where_the_settings_name_a_master(
    lake: str, told: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sql_command.main(["--lake", lake, "SELECT 1", "--master", "local[1]"]) == 0
    said = "seglake: Spark answers: the settings name a Spark master\n"
    assert capsys.readouterr() == ("", said)
    assert told["lake"] == lake


def test_statement_that_only_spark_can_answer_ends_with_2_and_starts_none(
    lake: str, told: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sql_command.main(["--lake", lake, "SELECT mask(topic) FROM records"]) == 2
    out, errors = capsys.readouterr()
    assert (out, told, len(errors.splitlines())) == ("", {}, 1)
    assert errors.endswith("; if it is Spark's SQL, use --engine spark\n")


def test_functions_of_spark_that_people_type_need_no_spark(
    lake: str, told: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    typed = (
        "SELECT get_json_object(CAST(`value` AS STRING), '$.a') AS a, to_date('2026-01-02') AS d"
    )
    statement = f"{typed} FROM topic_orders WHERE topic RLIKE '^o' LIMIT 1"
    assert sql_command.main(["--lake", lake, "--json", statement]) == 0
    assert capsys.readouterr() == ('{"a":null,"d":"2026-01-02"}\n', "")
    assert told == {}


def test_engine_that_is_named_is_asked_without_a_word(
    lake: str, told: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sql_command.main(["--lake", lake, "--engine", "duckdb", "SELECT 1"]) == 0
    assert told == {}
    assert sql_command.main(["--lake", lake, "--engine", "spark", "SELECT 1"]) == 0
    assert told["application"] == "sql"
    assert capsys.readouterr().err == ""


def test_spark_submit_is_asked_what_it_was_started_for(
    lake: str,
    told: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert not is_submitted()
    monkeypatch.setattr(sql_engines, "is_submitted", lambda: True)
    assert sql_command.main(["--lake", lake, "SELECT 1"]) == 0
    assert capsys.readouterr().err == "seglake: Spark answers: spark-submit runs this\n"
    assert told


@pytest.mark.parametrize(("lake_uri", "hadoop_uri"), [("s3://b/lake", "s3a://b/lake")])
def test_spark_is_told_how_to_reach_the_lake(
    lake_uri: str, hadoop_uri: str, told: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LakeTables, "require", lambda tables: None)
    endpoint = "spark.properties.spark.hadoop.fs.s3a.endpoint=http://h:1"
    given = ["--lake", lake_uri, "SELECT 1", "--set", endpoint, "--engine", "spark"]
    assert sql_command.main(given) == 0
    assert told["lake"] == hadoop_uri
    hadoop = told["hadoop"]
    assert isinstance(hadoop, dict)
    assert hadoop["fs.s3a.bucket.b.endpoint"] == "http://h:1"


def test_lake_on_hdfs_is_left_to_spark(
    told: dict[str, object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(LakeTables, "require", lambda tables: None)
    assert sql_command.main(["--lake", "hdfs://h:1/lake", "SELECT 1"]) == 0
    assert capsys.readouterr().err == "seglake: Spark answers: the lake is on HDFS\n"
    assert told["lake"] == "hdfs://h:1/lake"


def test_answer_is_quick_because_little_is_imported(lake: str) -> None:
    """Spark's Python, the decoder, and what opens a lake far away, cost seconds."""
    code = (
        "import sys; from seglake.cli.main import main; main(sys.argv[1:]);"
        "heavy = {'pyspark', 'numba', 'pandas', 'fsspec', 'hdfs_native', 'pyarrow.dataset'};"
        "print(sorted(heavy & {*sys.modules}))"
    )
    command = [sys.executable, "-c", code, "sql", "--lake", lake, "--json", _TOPICS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{_LINES}[]\n"


def test_example_of_the_help_runs(lake: str, capsys: pytest.CaptureFixture[str]) -> None:
    example = parser_of("sql").format_help().splitlines()[-1]
    command = shlex.split(example.replace("/data/lake", lake))
    assert command[:2] == ["seglake", "sql"]
    assert sql_command.main(command[2:]) == 0
    assert "| orders       |        1 |" in capsys.readouterr().out


def test_ctrl_c_ends_with_130(lake: str) -> None:
    query = "SELECT count(*) FROM range(9000000) a JOIN range(9000000) b ON a.range < b.range"
    command = [sys.executable, "-m", "seglake", "sql", "--lake", lake, f"SELECT 1; {query}"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert [running.stdout.readline() for _ in range(5)][3] == "| 1 |\n"
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        assert running.stderr is not None
        assert running.stderr.read() == "seglake: interrupted\n"


def test_closed_pipe_is_no_error(lake: str) -> None:
    """As with `| head -1`."""
    query = "SELECT a.range AS a FROM range(3000000) AS a"
    command = [sys.executable, "-m", "seglake", "sql", "--lake", lake, "--csv", query]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == b"a\n"
        running.stdout.close()
        assert running.wait(60) == 0
        assert running.stderr.read() == b""


def test_folder_for_what_memory_cannot_hold_is_gone_afterwards(
    lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    assert sql_command.main(["--lake", lake, _TOPICS]) == 0
    assert [*tmp_path.iterdir()] == []
    assert not os.path.lexists(".tmp")
