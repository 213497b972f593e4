"""A misspelled option or choice leads to the one that is meant."""

import argparse
from collections.abc import Callable

import pytest

from seglake.cli.arguments import (
    audit_parser,
    ingest_parser,
    inspect_parser,
    replay_parser,
    sql_parser,
    warm_up_parser,
)

_INGEST = ["--source", "s", "--lake", "l"]


@pytest.mark.parametrize(
    ("parser", "argv", "said"),
    [
        (ingest_parser, [*_INGEST, "--from-timestmp", "2026-01-01"], "--from-timestamp?"),
        (ingest_parser, [*_INGEST, "--from-timestmp=2026-01-01"], "--from-timestamp?"),
        (
            ingest_parser,
            ["--sorce", "s", "--lake", "l"],
            "no option --sorce; did you mean --source",
        ),
        (ingest_parser, [*_INGEST, "--dry"], "; did you mean --dry-run?"),
        (ingest_parser, [*_INGEST, "--Topics", "a"], "; did you mean --topics"),
        (
            ingest_parser,
            [*_INGEST, "--isolation", "read_commited"],
            "; did you mean read_committed",
        ),
        (ingest_parser, [*_INGEST, "--engine", "locl"], "; did you mean local?"),
        (audit_parser, ["--lake", "l", "--jsn"], "; did you mean --json?"),
        (replay_parser, ["--lake", "l", "--topic", "a"], "; did you mean --topics?"),
        (inspect_parser, ["p", "--ofset", "3"], "; did you mean --offset"),
        (sql_parser, ["--lak", "l", "SELECT 1"], "no option --lak; did you mean --lake?"),
        (warm_up_parser, ["--s4"], "; did you mean --s3?"),
    ],
)
def test_misspelled_option_or_choice_leads_to_the_one_that_is_meant(
    parser: Callable[[], argparse.ArgumentParser],
    argv: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(argv)
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_what_is_like_no_option_leads_to_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        ingest_parser().parse_args([*_INGEST, "--xyzzy"])
    assert capsys.readouterr().err.endswith("unrecognized arguments: --xyzzy\n")


def test_values_and_what_follows_two_dashes_are_no_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        sql_parser().parse_args(["--lake", "l", "--", "--lak", "more"])
    assert "did you mean" not in capsys.readouterr().err
