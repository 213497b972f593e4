"""What `seglake audit` ends with."""

import json
from pathlib import Path

import pytest

from seglake.cli import audit_command, ingest_command
from support.made_logs import make_log_dir

_ALONE = ("--engine", "local", "--set", "limits.local_processes=1")


def test_audit_ends_with_3_when_the_disk_is_not_what_was_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_log_dir(tmp_path / "disk", {("orders", 0): [0, 20]})
    command = ["--lake", str(tmp_path / "lake"), "--source", str(tmp_path / "disk"), *_ALONE]
    assert ingest_command.main(command) == 0
    assert audit_command.main(command) == 0
    make_log_dir(tmp_path / "disk", {("orders", 0): [0, 20]}, value_bytes=1)
    capsys.readouterr()
    assert audit_command.main([*command, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["exit_code"] == 3
