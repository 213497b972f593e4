"""A misspelled option or choice leads to the one that is meant."""

import pytest

from seglake.cli.arguments import parser_of

_INGEST = ["--source", "s", "--lake", "l"]


@pytest.mark.parametrize(
    ("command", "argv", "said"),
    [
        ("ingest", [*_INGEST, "--from-timestmp", "2026-01-01"], "--from-timestamp?"),
        ("ingest", [*_INGEST, "--from-timestmp=2026-01-01"], "--from-timestamp?"),
        (
            "ingest",
            ["--sorce", "s", "--lake", "l"],
            "no option --sorce; did you mean --source",
        ),
        ("ingest", [*_INGEST, "--dry"], "; did you mean --dry-run?"),
        ("ingest", [*_INGEST, "--Topics", "a"], "; did you mean --topics"),
        (
            "ingest",
            [*_INGEST, "--isolation", "read_commited"],
            "; did you mean read_committed",
        ),
        ("ingest", [*_INGEST, "--engine", "locl"], "; did you mean local?"),
        ("audit", ["--lake", "l", "--jsn"], "; did you mean --json?"),
        ("replay", ["--lake", "l", "--topic", "a"], "; did you mean --topics?"),
        ("inspect", ["p", "--ofset", "3"], "; did you mean --offset"),
        ("sql", ["--lak", "l", "SELECT 1"], "no option --lak; did you mean --lake?"),
        ("warm-up", ["--s4"], "; did you mean --s3?"),
        ("cat", ["--lake", "l", "--offset", "3"], "commands only; did you mean --offsets?"),
        ("inspect", ["p", "--offsets", "3"], "commands only; did you mean --offset?"),
        ("latest", ["--lake", "l", "--metrics", "f"], "; --metrics is an option of other"),
        ("latest", ["--lake", "l", "--engine", "local"], "; --engine is an option of other"),
    ],
)
def test_misspelled_option_or_choice_leads_to_the_one_that_is_meant(
    command: str,
    argv: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as caught:
        parser_of(command).parse_args(argv)
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_what_is_like_no_option_leads_to_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser_of("ingest").parse_args([*_INGEST, "--xyzzy"])
    assert capsys.readouterr().err.endswith("unrecognized arguments: --xyzzy\n")


def test_values_and_what_follows_two_dashes_are_no_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        parser_of("sql").parse_args(["--lake", "l", "--", "--lak", "more"])
    assert "did you mean" not in capsys.readouterr().err
