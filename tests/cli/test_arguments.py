"""Every option shows its effect on the settings or in the parsed arguments."""

import argparse

import pytest

from seglake.cli.arguments import (
    audit_parser,
    ingest_parser,
    inspect_parser,
    retake_parser,
    settings_of,
    sql_parser,
)

INGEST = ["--source", "/disk", "--lake", "/lake"]


def test_sources_add_up() -> None:
    parsed = ingest_parser().parse_args(["--source", "a", "b", "--lake", "l", "--source", "c"])
    assert parsed.source == ["a", "b", "c"]
    assert (parsed.engine, parsed.run_id, parsed.dry_run, parsed.json) == (
        "spark",
        None,
        False,
        False,
    )


def test_ingest_options_reach_the_arguments() -> None:
    parsed = ingest_parser().parse_args(
        [*INGEST, "--engine", "local", "--run-id", "r", "--dry-run", "--json", "-vv", "-q"]
    )
    assert (parsed.engine, parsed.run_id, parsed.dry_run, parsed.json) == ("local", "r", True, True)
    assert (parsed.verbose, parsed.quiet) == (2, 1)


def test_inspect_options_reach_the_arguments() -> None:
    parsed = inspect_parser().parse_args(["x.log", "--records", "--offset", "7", "--json"])
    assert (parsed.path, parsed.records, parsed.offset, parsed.json) == ("x.log", True, 7, True)


def test_audit_options_reach_the_arguments() -> None:
    parsed = audit_parser().parse_args(["--lake", "l", "--source", "a", "b", "--source", "c"])
    assert (parsed.lake, parsed.source, parsed.engine) == ("l", ["a", "b", "c"], "spark")
    parsed = audit_parser().parse_args(["--lake", "l", "--engine", "local", "--source-id", "c1"])
    assert (parsed.source, parsed.engine, parsed.json) == ([], "local", False)
    assert settings_of(parsed).source.source_id == "c1"


def test_sql_takes_statements_and_a_form_of_the_answer() -> None:
    parsed = sql_parser().parse_args(["--lake", "l"])
    assert (parsed.query, parsed.file, parsed.engine) == (None, None, None)
    assert (parsed.form, parsed.parquet) == ("table", None)
    parsed = sql_parser().parse_args(["--lake", "l", "-f", "x.sql", "--csv", "--engine", "spark"])
    assert (parsed.file, parsed.form, parsed.engine) == ("x.sql", "csv", "spark")


def test_sql_takes_spark_settings() -> None:
    parsed = sql_parser().parse_args(["--lake", "l", "SELECT 1", "--master", "local[1]"])
    assert (parsed.lake, parsed.query) == ("l", "SELECT 1")
    assert settings_of(parsed).spark.master == "local[1]"


@pytest.mark.parametrize(
    ("parser", "argv"),
    [
        (ingest_parser(), ["--lake", "l"]),
        (ingest_parser(), ["--source", "s"]),
        (ingest_parser(), [*INGEST, "--engine", "flink"]),
        (ingest_parser(), [*INGEST, "--isolation", "none"]),
        (ingest_parser(), [*INGEST, "--dry"]),
        (audit_parser(), ["--source", "s"]),
        (audit_parser(), ["--lake", "l", "--engine", "flink"]),
        (inspect_parser(), []),
        (inspect_parser(), ["x.log", "--offset", "-1"]),
        (inspect_parser(), ["x.log", "--offset", "one"]),
        (sql_parser(), ["SELECT 1"]),
        (sql_parser(), ["--lake", "l", "--engine", "local"]),
        (sql_parser(), ["--lake", "l", "--json", "--csv"]),
        (sql_parser(), ["--lake", "l", "SELECT 1", "SELECT 2"]),
    ],
)
def test_wrong_call_ends_with_2(
    parser: argparse.ArgumentParser, argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parser.parse_args(argv)
    assert caught.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize(
    "parser", [audit_parser(), ingest_parser(), inspect_parser(), sql_parser()]
)
def test_help_fits_a_screen_and_has_an_example(
    parser: argparse.ArgumentParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = parser.format_help().splitlines()
    assert len(lines) <= 40
    assert max(len(line) for line in lines) <= 100
    assert lines[-2] == "example:"
    assert lines[-1].startswith(f"  {parser.prog} ")


def test_topics_may_follow_one_option_or_several() -> None:
    for given in (["--topics", "a", "!b"], ["--topics", "a", "--topics", "!b"]):
        arguments = ingest_parser().parse_args(["--source", "s", *given, "--lake", "l"])
        assert settings_of(arguments).select.topics == ("a", "!b")
    arguments = retake_parser().parse_args(
        ["--source", "s", "--lake", "l", "--partition", "1", "2"]
    )
    assert arguments.partition == [1, 2]
