"""`seglake latest` says what it changed, and its exit code whether a topic was left out."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import seglake
from seglake.cli import latest_command
from support.lakes import ingested
from support.made_logs import make_log_dir


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake whose topics have five keys each."""
    disk = make_log_dir(tmp_path / "disk", {("orders", 0): [0, 5], ("payments", 0): [0, 5]})
    ingested(disk, tmp_path / "lake")
    return tmp_path / "lake"


def test_a_run_makes_tables_and_says_what_it_merged(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["--lake", str(lake), "--topics", "orders"]
    assert latest_command.main([*call, "--dry-run"]) == 0
    first, line = capsys.readouterr().out.splitlines()
    assert first.startswith("1 table would be brought up to date (")
    assert line == "latest/orders: 1 new commit to read"
    assert latest_command.main(call) == 0
    first, line = capsys.readouterr().out.splitlines()
    assert first.startswith("1 table brought up to date (")
    assert line == "latest/orders: 5 new records, 5 keys new, 0 changed"
    assert latest_command.main(["--lake", str(lake)]) == 0
    assert capsys.readouterr().out.startswith("nothing new for the latest state (")
    assert latest_command.main([*call, "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("nothing new for the latest state (")
    assert latest_command.main([*call, "--rebuild", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    [topic] = facts["topics"]
    assert (facts["exit_code"], topic["computed_anew"], topic["updated"]) == (0, 1, 5)
    assert latest_command.main(["--lake", str(lake), "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_a_rebuild_calls_rows_written_anew_and_none_changed(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["--lake", str(lake), "--topics", "orders", "--rebuild"]
    assert latest_command.main([*call[:-1], "-q"]) == 0
    capsys.readouterr()
    assert latest_command.main([*call, "--dry-run"]) == 0
    first, line = capsys.readouterr().out.splitlines()
    assert first.startswith("1 table would be rebuilt (")
    assert line == "latest/orders: 0 new commits to read; 1 partition to compute anew"
    assert latest_command.main(call) == 0
    first, line = capsys.readouterr().out.splitlines()
    assert first.startswith("1 table rebuilt (")
    assert line == (
        "latest/orders: 0 new records, 0 keys new, 5 written anew; 1 partition computed anew"
    )


def test_a_topic_that_is_not_there_ends_with_3_and_a_wrong_call_with_2(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["--lake", str(lake), "--topics"]
    assert latest_command.main([*call, "orders", "paymen"]) == 3
    answer = capsys.readouterr().out
    assert "1 table brought up to date, 1 topic left out" in answer
    assert "left out: paymen selects no topic of the lake; did you mean payments?" in answer
    assert latest_command.main([*call, "nothing"]) == 2
    assert latest_command.main(["--lake", str(lake / "none")]) == 2
    shutil.rmtree(lake / "latest")
    assert latest_command.main(["--lake", str(lake)]) == 2
    assert "the lake has no table of latest state: name topics with" in capsys.readouterr().err


def test_a_foreign_table_among_them_is_refused(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(lake / "gaps", lake / "latest" / "gaps")
    assert latest_command.main(["--lake", str(lake)]) == 1
    assert "latest/gaps is not a table of latest state" in capsys.readouterr().err


def test_the_api_does_the_same(lake: Path) -> None:
    assert seglake.latest(lake, topics=["orders", "payments"]).exit_code == 0
    assert seglake.latest(lake).unchanged == ["orders", "payments"]
    misspelled: dict[str, Any] = {"rebuilt": True}
    with pytest.raises(TypeError, match="did you mean rebuild"):
        seglake.latest(lake, **misspelled)
