"""Every option shows its effect on the settings or in the parsed arguments."""

import argparse
import shlex
from pathlib import Path

import pytest

from seglake.cli.arguments import parser_of, settings_of
from seglake.cli.main import COMMANDS, main
from support.made_logs import make_log_dir

INGEST = ["--source", "/disk", "--lake", "/lake"]


def test_sources_add_up() -> None:
    parsed = parser_of("ingest").parse_args(["--source", "a", "b", "--lake", "l", "--source", "c"])
    assert parsed.source == ["a", "b", "c"]
    assert (parsed.engine, parsed.run_id, parsed.dry_run, parsed.json) == (
        "spark",
        None,
        False,
        False,
    )


def test_ingest_options_reach_the_arguments() -> None:
    parsed = parser_of("ingest").parse_args(
        [*INGEST, "--engine", "local", "--run-id", "r", "--dry-run", "--json", "-vv", "-q"]
    )
    assert (parsed.engine, parsed.run_id, parsed.dry_run, parsed.json) == ("local", "r", True, True)
    assert (parsed.verbose, parsed.quiet) == (2, 1)


def test_inspect_options_reach_the_arguments() -> None:
    parsed = parser_of("inspect").parse_args(["x.log", "--records", "--offset", "7", "--json"])
    assert (parsed.path, parsed.records, parsed.offset, parsed.json) == ("x.log", True, 7, True)


def test_audit_options_reach_the_arguments() -> None:
    parsed = parser_of("audit").parse_args(["--lake", "l", "--source", "a", "b", "--source", "c"])
    assert (parsed.lake, parsed.source, parsed.engine) == ("l", ["a", "b", "c"], "spark")
    parsed = parser_of("audit").parse_args(["--lake=l", "--engine=local", "--source-id=c1"])
    assert (parsed.source, parsed.engine, parsed.json) == ([], "local", False)
    assert settings_of(parsed).source.source_id == "c1"


def test_sql_takes_statements_and_a_form_of_the_answer() -> None:
    parsed = parser_of("sql").parse_args(["--lake", "l"])
    assert (parsed.query, parsed.file, parsed.engine) == (None, None, None)
    assert (parsed.form, parsed.parquet) == ("table", None)
    parsed = parser_of("sql").parse_args(["--lake=l", "-f", "x.sql", "--csv", "--engine=spark"])
    assert (parsed.file, parsed.form, parsed.engine) == ("x.sql", "csv", "spark")


def test_sql_takes_spark_settings() -> None:
    parsed = parser_of("sql").parse_args(["--lake", "l", "SELECT 1", "--master", "local[1]"])
    assert (parsed.lake, parsed.query) == ("l", "SELECT 1")
    assert settings_of(parsed).spark.master == "local[1]"


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("ingest", ["--lake", "l"]),
        ("ingest", ["--source", "s"]),
        ("ingest", [*INGEST, "--engine", "flink"]),
        ("ingest", [*INGEST, "--isolation", "none"]),
        ("ingest", [*INGEST, "--dry"]),
        ("audit", ["--source", "s"]),
        ("audit", ["--lake", "l", "--engine", "flink"]),
        ("inspect", []),
        ("inspect", ["x.log", "--offset", "-1"]),
        ("inspect", ["x.log", "--offset", "one"]),
        ("sql", ["SELECT 1"]),
        ("sql", ["--lake", "l", "--engine", "local"]),
        ("sql", ["--lake", "l", "--json", "--csv"]),
        ("sql", ["--lake", "l", "SELECT 1", "SELECT 2"]),
    ],
)
def test_wrong_call_ends_with_2(
    command: str, argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parser_of(command).parse_args(argv)
    assert caught.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize("command", ["audit", "ingest", "inspect", "sql"])
def test_help_fits_a_screen_and_has_an_example(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = parser_of(command).format_help().splitlines()
    assert len(lines) <= 40
    assert max(len(line) for line in lines) <= 100
    assert lines[-2] == "example:"
    assert lines[-1].startswith(f"  seglake {command} ")


def test_topics_may_follow_one_option_or_several() -> None:
    for given in (["--topics", "a", "!b"], ["--topics", "a", "--topics", "!b"]):
        arguments = parser_of("ingest").parse_args(["--source", "s", *given, "--lake", "l"])
        assert settings_of(arguments).select.topics == ("a", "!b")
    arguments = parser_of("retake").parse_args(
        ["--source", "s", "--lake", "l", "--partition", "1", "2"]
    )
    assert arguments.partition == [1, 2]


def _examples(command: str) -> list[list[str]]:
    """The calls that the help of a command ends with."""
    parser: argparse.ArgumentParser = parser_of(command)
    _, _, calls = parser.format_help().rpartition("\nexample")
    lines = calls.partition(":\n")[2].splitlines()
    assert lines
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_of_every_command_are_right_calls(command: str) -> None:
    for program, name, *argv in _examples(command):
        assert (program, name) == ("seglake", command)
        given = argv[: argv.index(">")] if ">" in argv else argv
        assert parser_of(command).parse_args(given)


def test_examples_run(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """But for Spark's and those that fetch; on a disk that has what they name."""
    edges = {("orders", partition): [0, 20] for partition in (0, 3)}
    make_log_dir(tmp_path / "var" / "lib" / "kafka" / "data", edges)
    for command in ("ingest", "audit", "inspect", "replay", "retake", "cat", "completion"):
        for _, *call in _examples(command):
            moved = [f"{tmp_path}{word}" if word.startswith("/") else word for word in call]
            given = moved[: moved.index(">")] if ">" in moved else moved
            local = ["--engine", "local"] if "--engine" in _help(command) else []
            assert main([*given, *local]) == 0, call
            assert capfdbinary.readouterr().out


def _help(command: str) -> str:
    parser: argparse.ArgumentParser = parser_of(command)
    return parser.format_help()
