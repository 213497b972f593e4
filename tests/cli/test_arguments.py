"""Every option shows its effect on the settings or in the parsed arguments."""

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.cli.arguments import (
    audit_parser,
    ingest_parser,
    inspect_parser,
    settings_of,
    sql_parser,
)
from seglake.errors import WrongCallError
from seglake.kafka_log.read_policy import Isolation, UpperBound
from seglake.pipelines.settings.settings import Settings
from seglake.pipelines.settings.values import SettingsError

INGEST = ["--source", "/disk", "--lake", "/lake"]


def settings(*options: str) -> Settings:
    return settings_of(ingest_parser().parse_args([*INGEST, *options]))


def test_nothing_given_is_the_defaults() -> None:
    assert settings() == Settings()


@pytest.mark.parametrize(
    ("options", "read", "expected"),
    [
        (["--topics", "a*", "--topics", "!ab"], lambda s: s.select.topics, ("a*", "!ab")),
        (["--internal-topics"], lambda s: s.select.internal_topics, True),
        (["--from-timestamp", "1970-01-01T00:00:01Z"], lambda s: s.select.from_timestamp_ms, 1000),
        (["--to-timestamp", "1970-01-01T00:00:02"], lambda s: s.select.to_timestamp_ms, 2000),
        (
            ["--isolation", "read_uncommitted"],
            lambda s: s.read.isolation,
            Isolation.READ_UNCOMMITTED,
        ),
        (["--upper-bound", "log_end"], lambda s: s.read.upper_bound, UpperBound.LOG_END),
        (["--source-id", "c1"], lambda s: s.source.source_id, "c1"),
        (["--master", "local[3]"], lambda s: s.spark.master, "local[3]"),
        (["--set", "read.split_bytes=5_000_000"], lambda s: s.read.split_bytes, 5_000_000),
        (["--set", "spark.master=yarn"], lambda s: s.spark.master, "yarn"),
        (["--set", 'select.topics=["a", "b"]'], lambda s: s.select.topics, ("a", "b")),
        (["--set", "limits.fail_on_quarantine=true"], lambda s: s.limits.fail_on_quarantine, True),
        (
            ["--set", "spark.properties.spark.sql.shuffle.partitions=2"],
            lambda s: s.spark.properties,
            (("spark.sql.shuffle.partitions", "2"),),
        ),
    ],
)
def test_option_changes_its_setting(
    options: list[str], read: Callable[[Settings], object], expected: object
) -> None:
    assert read(settings(*options)) == expected
    assert read(Settings()) != expected


def test_files_then_set_then_options(tmp_path: Path) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text(
        "[read]\nsplit_bytes = 6000000\ndecoded_bytes = 6\nwindow_bytes = 600000\n"
        'isolation = "read_uncommitted"\nupper_bound = "log_end"\n',
        "utf-8",
    )
    second.write_text('[read]\nsplit_bytes = 7000000\nupper_bound = "log_end"\n', "utf-8")
    read = settings(
        *("--config", str(first), "--config", str(second)),
        *("--set", "read.decoded_bytes=8", "--set", "read.upper_bound=log_end"),
        *("--upper-bound", "high_watermark"),
    ).read
    assert read.window_bytes == 600_000
    assert read.split_bytes == 7_000_000
    assert read.decoded_bytes == 8
    assert read.isolation == Isolation.READ_UNCOMMITTED
    assert read.upper_bound == UpperBound.HIGH_WATERMARK


@pytest.mark.parametrize("assignment", ["read", "read.x", "=5", "read=5", ".x=5", "read.=5"])
def test_assignment_of_another_form_is_refused(assignment: str) -> None:
    with pytest.raises(WrongCallError, match=r"--set expects section\.key=value"):
        settings("--set", assignment)


def test_refused_value_names_its_option() -> None:
    with pytest.raises(SettingsError, match=r"from --source-id"):
        settings("--source-id", "a/b")
    with pytest.raises(SettingsError, match=r"from --set read.split_bytes"):
        settings("--set", "read.split_bytes=many")
    with pytest.raises(SettingsError, match=r"from --from-timestamp and --to-timestamp"):
        settings("--from-timestamp", "2026-01-02", "--to-timestamp", "2026-01-01")


def test_settings_file_that_is_missing_or_no_toml_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    for content, problem in ((b"[read", "is not TOML"), (b"\xff[read", "is not UTF-8")):
        broken.write_bytes(content)
        with pytest.raises(WrongCallError, match=rf"broken\.toml {problem}"):
            settings("--config", str(broken))
    with pytest.raises(WrongCallError, match=r"none\.toml: No such file"):
        settings("--config", str(tmp_path / "none.toml"))


def test_file_of_spark_properties_is_a_settings_file_too(tmp_path: Path) -> None:
    first, second = tmp_path / "cluster.conf", tmp_path / "own.properties"
    first.write_text("# a\n! b\n\n spark.one  1 # kept\nspark.two=a=b\nspark.three : /x:y\n")
    second.write_text("spark.one 2\n")
    read = settings("--config", str(first), "--config", str(second), "--set", "spark.master=yarn")
    assert dict(read.spark.properties) == {
        "spark.one": "2",
        "spark.two": "a=b",
        "spark.three": "/x:y",
    }
    assert read.spark.master == "yarn"


@pytest.mark.parametrize("line", ["read.isolation x", "spark.password s3cret\\", "spark.password"])
def test_line_that_is_no_property_is_refused_by_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "own.conf"
    path.write_text(f"spark.one 1\n{line}\n")
    with pytest.raises(WrongCallError, match=r"line 2 of .*own\.conf") as caught:
        settings("--config", str(path))
    assert "s3cret" not in str(caught.value)


def test_master_without_spark_is_a_contradiction() -> None:
    with pytest.raises(WrongCallError, match="--engine local runs no Spark"):
        settings("--engine", "local", "--master", "local[2]")


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
        (sql_parser(), ["--lake", "l"]),
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
