"""`seglake register`: what it prints, and which calls it refuses at once."""

import shutil
from pathlib import Path

import pytest

from seglake import catalog_commands
from seglake.cli import register_command
from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.lake_names import LakeNames
from seglake.pipelines.lake_query.scripts import athena_statements
from seglake.pipelines.lake_query.views import view_names
from support.lakes import ingested
from support.made_logs import make_log_dir
from support.typed_lakes import decoded, int_of, made


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("register")
    edges = {("orders", 0): [0, 20], ("dead.letters", 1): [0, 5]}
    ingested(make_log_dir(folder / "disk", edges), folder / "lake")
    return folder / "lake"


def _printed(capsys: pytest.CaptureFixture[str], lake: Path, *options: str) -> list[str]:
    assert register_command.main(["--lake", str(lake), *options]) == 0
    return [part.strip() for part in capsys.readouterr().out.split(";\n") if part.strip()]


def test_spark_s_statements_have_the_tables_and_all_views(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, use, *others = _printed(capsys, lake, "--database", "unity.kafka", "--print")
    assert (first, use) == ("CREATE DATABASE IF NOT EXISTS unity.kafka", "USE unity.kafka")
    tables, views = others[: len(TABLES)], others[len(TABLES) :]
    assert tables == [
        f"CREATE TABLE IF NOT EXISTS {t.name} USING delta LOCATION '{lake}/{t.name}'"
        for t in TABLES
    ]
    names = [view.split()[4] for view in views]
    assert names == [*view_names(), "topic_dead_letters", "topic_orders"]
    assert all(f"TBLPROPERTIES ('seglake.lake' = '{lake}') AS\n" in view for view in views)


def test_spark_s_statements_need_no_database(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _printed(capsys, lake, "--database", "kafka", "--print")[2:] == _printed(
        capsys, lake, "--print", "spark"
    )


@pytest.mark.parametrize("options", [["--print", "trino"], ["--print", "athena"], []])
def test_what_needs_a_database_says_so(
    lake: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert register_command.main(["--lake", str(lake), *options]) == 2
    out, errors = capsys.readouterr()
    assert (out, "--database" in errors, len(errors.splitlines())) == ("", True, 1)


def test_names_that_could_mean_two_topics_are_dropped_and_views_say_their_topic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edges = {(topic, 0): [0, 5] for topic in ("orders", "Orders", "it.is")}
    ingested(make_log_dir(tmp_path / "disk", edges), tmp_path / "lake")
    printed = _printed(capsys, tmp_path / "lake", "--database", "kafka", "--print")
    assert [each for each in printed if "DROP" in each] == ["DROP VIEW IF EXISTS topic_orders"]
    comments = [each.splitlines()[1] for each in printed if "COMMENT" in each]
    assert comments == [
        f"COMMENT 'records of the topic {t}'" for t in ("Orders", "it.is", "orders")
    ]


@pytest.mark.parametrize(
    ("dialect", "database", "first"),
    [
        (
            "trino",
            "kafka",
            "CALL delta.system.register_table(schema_name => 'kafka', table_name => 'records',"
            " table_location => '{lake}/records')",
        ),
        (
            "trino",
            "lakes.kafka",
            "CALL lakes.system.register_table(schema_name => 'kafka', table_name => 'records',"
            " table_location => '{lake}/records')",
        ),
    ],
)
def test_other_engines_get_the_tables(
    lake: Path, capsys: pytest.CaptureFixture[str], dialect: str, database: str, first: str
) -> None:
    printed = _printed(capsys, lake, "--database", database, "--print", dialect)
    assert len(printed) == len(TABLES)
    assert printed[0] == first.format(lake=lake)


def test_athena_gets_no_lake_that_it_cannot_read(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--lake", str(lake), "--database", "kafka", "--print", "athena"]
    assert register_command.main(command) == 2
    assert "Athena reads lakes on S3 only" in capsys.readouterr().err
    first, *_ = athena_statements("kafka", "s3://bucket/it's", LakeNames(tuple))
    assert first == (
        "CREATE EXTERNAL TABLE kafka.records LOCATION 's3://bucket/it''s/records/'"
        " TBLPROPERTIES ('table_type' = 'DELTA')"
    )


def test_iceberg_s_tables_are_described_and_named(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--lake", str(lake), "--database", "unity.kafka", "--iceberg", str(tmp_path / "ice")]
    for new in (len(TABLES), 0):
        assert register_command.main(command) == 0
        place = tmp_path / "ice" / "unity" / "kafka"
        assert capsys.readouterr().out == (
            f"{len(TABLES)} tables of {lake} are registered in {place}, {new} of them are new\n"
        )
    assert {path.name for path in place.iterdir()} == {table.name for table in TABLES}


def test_iceberg_without_its_package_says_which(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_commands, "find_spec", lambda name: None)
    command = ["--lake", str(lake), "--database", "kafka", "--iceberg", str(tmp_path / "ice")]
    assert register_command.main(command) == 2
    assert "needs the package pyiceberg, which is not installed" in capsys.readouterr().err
    assert not (tmp_path / "ice").exists()


@pytest.mark.parametrize("name", ["", "a b", "kafka;drop", "a.b.c", "1st", "`kafka`"])
def test_database_that_needs_quotes_is_refused(
    lake: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    command = ["--lake", str(lake), "--database", name, "--print"]
    assert register_command.main(command) == 2
    assert "is no valid name for a database" in capsys.readouterr().err


@pytest.mark.parametrize(
    "uri", ["metastore:9083", "thrift://metastore", "http://metastore:9083", "thrift://m:port"]
)
def test_metastore_of_another_form_is_refused(
    lake: Path, capsys: pytest.CaptureFixture[str], uri: str
) -> None:
    command = ["--lake", str(lake), "--database", "kafka", "--metastore", uri]
    assert register_command.main(command) == 2
    assert f"name a metastore as thrift://HOST:PORT, got {uri}" in capsys.readouterr().err


def test_metastore_that_does_not_answer_ends_with_1_before_spark_starts(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = "thrift://127.0.0.1:1,thrift://127.0.0.1:2"
    command = ["--lake", str(lake), "--database", "kafka", "--metastore", nowhere]
    assert register_command.main(command) == 1
    assert "no metastore answers: 127.0.0.1:1: Connection refused; 127.0.0.1:2" in (
        capsys.readouterr().err
    )


def test_lake_that_is_none_or_lacks_a_table_ends_with_2(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--database", "kafka", "--print"]
    assert register_command.main(["--lake", str(tmp_path / "none"), *options]) == 2
    assert "is not a lake" in capsys.readouterr().err
    shutil.copytree(lake, tmp_path / "lake", ignore=shutil.ignore_patterns("observations"))
    assert register_command.main(["--lake", str(tmp_path / "lake"), *options]) == 2
    assert (
        "it lacks table observations. The next ingest or seglake maintain --upgrade adds it"
        in capsys.readouterr().err
    )


def test_typed_tables_are_registered_from_their_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = made(tmp_path, int_of(1))
    decoded(lake, "t")
    printed = _printed(capsys, lake, "--print")
    place = f"CREATE TABLE IF NOT EXISTS all_typed_t USING delta LOCATION '{lake}/typed/t'"
    assert printed.count(place) == 1
    view = next(each for each in printed if each.startswith("CREATE OR REPLACE VIEW typed_t\n"))
    assert "COMMENT 'decoded values of the topic t'" in view
    assert "FROM all_typed_t ANTI JOIN lost" in view
    trino = _printed(capsys, lake, "--database", "delta.kafka", "--print", "trino")
    names = [each.partition("table_name => ")[2].partition(",")[0] for each in trino]
    assert {"'all_typed_t'", "'value_rejects'", "'typed_checkpoints'"} < {*names}
