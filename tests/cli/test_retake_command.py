"""`seglake retake` as it is called: what it prints, and its exit codes."""

import json
from pathlib import Path

import pytest

from seglake.cli.retake_command import main
from support.elected_logs import ElectedLog, current, plain, write_elected
from support.lakes import ingested

_BEFORE = plain(1, 2)
_WINNER = ElectedLog.of(*_BEFORE, *plain(3, 2, 4))

Output = pytest.CaptureFixture[str]


@pytest.fixture
def call(tmp_path: Path) -> list[str]:
    """The arguments for a lake whose rows lost an election, and the disk of the winner."""
    lake, disk = tmp_path / "lake", tmp_path / "disk"
    loser = ElectedLog.of(*_BEFORE, *plain(1, 3))
    ingested(write_elected(disk, loser), lake, read={"upper_bound": "log_end"})
    ingested(write_elected(disk, _WINNER, broker_id=1), lake)
    return ["--source", str(disk), "--lake", str(lake), "--engine", "local"]


def test_a_dry_run_a_run_and_another_say_what_they_do(call: list[str], capsys: Output) -> None:
    assert main([*call, "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "to be retaken: orders-0 [10, 18)",
        "to be released: orders-0 [18, 25): above the winning log's end, free for the next ingest",
    ]
    assert main([*call, "--topics", "orders", "--partition", "0"]) == 0
    headline, *lines = capsys.readouterr().out.splitlines()
    assert headline.startswith("8 records in 2 batches of 1 partition ingested again (")
    assert lines == [
        "retaken: orders-0 [10, 18)",
        "released: orders-0 [18, 25): above the winning log's end, free for the next ingest",
    ]
    assert main(call) == 0
    assert capsys.readouterr().out.startswith("nothing to retake in 1 partition (")
    assert current(Path(call[3])) == _WINNER.consumed()


def test_json_is_one_line_for_a_machine(call: list[str], capsys: Output) -> None:
    assert main([*call, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["retaken"] == [["orders-0", [10, 18]]]
    assert facts["released"] == [["orders-0", [18, 25]]]
    assert (facts["records"], facts["exit_code"]) == (8, 0)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--partition", "7"], "has no partition 7 of the selected topics"),
        (["--topics", "nothing"], "no topic of the lake is selected by nothing. There are orders"),
        (["--all"], "to ingest whole partitions again, name their topics: --topics"),
    ],
)
def test_a_wrong_call_is_answered_with_2(
    call: list[str], capsys: Output, more: list[str], said: str
) -> None:
    assert main([*call, *more]) == 2
    assert said in capsys.readouterr().err


def test_what_is_left_out_ends_with_3(call: list[str], capsys: Output, tmp_path: Path) -> None:
    old = write_elected(tmp_path / "old", ElectedLog.of(*plain(1, 5)))
    assert main(["--source", str(old), *call[2:]]) == 3
    out = capsys.readouterr().out
    assert out.startswith("nothing ingested again in 1 partition (")
    assert f"left out: orders-0: {old}/orders-0 is not the log that won" in out
