"""`seglake COMMAND` hands the rest to the command, and says which there are."""

import pytest

from seglake.cli.main import COMMANDS, main


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert f"seglake {command} " in capsys.readouterr().out


def test_the_code_is_that_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "/nowhere/at/all"]) == 2
    assert "cannot inspect /nowhere/at/all" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [[], ["ingst"], ["ingest-all"], ["--vers"]])
def test_what_is_no_command_ends_with_2_and_the_names_of_those_there_are(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert "seglake COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "meant"), [("ingets", "ingest"), ("Audit", "audit"), ("hlep", "help")]
)
def test_misspelled_command_leads_to_the_one_that_is_meant(
    given: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([given, "--lake", "x"])
    assert capsys.readouterr().err.endswith(f"; did you mean {meant}?\n")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["help"], ["--help"]),
        (["help", "ingest"], ["ingest", "--help"]),
        (["help", "help"], ["--help"]),
        (["help", "version"], ["--help"]),
        (["version"], ["--version"]),
    ],
)
def test_help_and_version_are_words_too(
    words: list[str], options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = []
    for argv in (words, options):
        with pytest.raises(SystemExit) as caught:
            main(argv)
        assert caught.value.code == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] != ""


def test_help_lists_every_command_with_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert all(f"{name} {command.does}" in said for name, command in COMMANDS.items())
