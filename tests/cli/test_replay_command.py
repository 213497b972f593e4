"""What `seglake replay` does with its options, where no Spark is needed."""

import json
from pathlib import Path

import pytest

from seglake.cli import ingest_command, replay_command
from support.lakes import read_arrow
from support.made_logs import make_log_dir

_ALONE = ("--engine", "local", "--set", "limits.local_processes=1")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Offsets 15 to 19 are quarantined: one byte of their batch was changed."""
    damaged = make_log_dir(tmp_path / "damaged", {("orders", 0): [0, 40]})
    log = damaged / "orders-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes().replace(b"orders-0@17", b"orders-0@71"))
    lake = tmp_path / "lake"
    assert ingest_command.main(["--source", str(damaged), "--lake", str(lake), *_ALONE]) == 3
    return lake


def test_a_sound_copy_fills_the_gap_and_a_dry_run_only_says_so(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = make_log_dir(tmp_path / "sound", {("orders", 0): [0, 40]}, broker_id=1)
    command = ["--lake", str(lake), "--source", str(sound), "--json", *_ALONE]
    capsys.readouterr()
    assert replay_command.main([*command, "--dry-run"]) == 0
    assert json.loads(capsys.readouterr().out)["planned_offsets"] == 5
    assert read_arrow(lake, "records").num_rows == 35
    assert replay_command.main([*command, "--run-id", "mine"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["run_id"], found["repaired_records"], found["left_offsets"]) == ("mine", 5, {})
    records = read_arrow(lake, "records")
    assert {*records.column("offset").to_pylist()} == {*range(40)}
    assert records.num_rows == 40
    assert records.column("run_id").to_pylist().count("mine") == 5


def test_without_another_copy_it_says_what_is_still_missing(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert replay_command.main(["--lake", str(lake), *_ALONE]) == 0
    said = capsys.readouterr().out
    assert "still quarantined: 1 crc_mismatch" in said
    assert "offsets in gaps that remain: 5 quarantined" in said
