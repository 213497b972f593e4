"""`seglake report` writes a page, and says what it says first."""

from pathlib import Path

import pytest

from seglake.cli import report_command
from support.wide_lake import write_wide_lake


def test_report_prints_the_answer_and_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wide_lake(tmp_path / "lake", 12)
    page = tmp_path / "page.html"
    assert report_command.main(["--lake", str(tmp_path / "lake"), "--output", str(page)]) == 0
    said = capsys.readouterr().out
    assert said.endswith(f"5 of 12 partitions need a look: {page}\n")
    assert page.read_text("utf-8")[:15] == "<!DOCTYPE html>"
    quiet = ["--lake", str(tmp_path / "lake"), "--output", str(page), "-q"]
    assert report_command.main(quiet) == 0
    assert capsys.readouterr().out == ""


def test_settings_say_how_long_a_bound_may_stand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wide_lake(tmp_path / "lake", 20, first_offset=1)
    command = ["--lake", str(tmp_path / "lake"), "--output", str(tmp_path / "page.html")]
    assert report_command.main(command) == 0
    assert report_command.main([*command, "--set", "limits.stuck_after=6h"]) == 0
    said = capsys.readouterr().out.splitlines()
    counts = [int(line.rpartition("; ")[2].split()[0]) for line in said]
    assert counts[0] < counts[1] < 20


def test_place_that_is_a_folder_or_no_lake_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wide_lake(tmp_path / "lake", 1)
    lake = ["--lake", str(tmp_path / "lake")]
    assert report_command.main([*lake, "--output", str(tmp_path)]) == 2
    assert "it is a folder" in capsys.readouterr().err
    nowhere = tmp_path / "nowhere" / "page.html"
    assert report_command.main([*lake, "--output", str(nowhere)]) == 2
    assert "must name a file in a folder that is there" in capsys.readouterr().err
    assert not nowhere.parent.exists()
    no_lake = ["--lake", str(tmp_path / "none"), "--output", str(tmp_path / "page.html")]
    assert report_command.main(no_lake) == 2
    assert "is not a lake" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()
