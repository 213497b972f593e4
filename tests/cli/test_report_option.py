"""`--report FILE` of the commands that work on a lake."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from seglake.cli import audit_command, ingest_command, replay_command, retake_command
from support.audits import falsified
from support.damaged_transactions import unknown_end_log_dir
from support.lakes import read_table
from support.made_logs import make_log_dir

_ALONE = ("--engine", "local", "--set", "limits.local_processes=1")
_SAMPLE = Path(__file__).parents[2] / "samples" / "broker-0"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "page.html"


def _data(page: Path) -> Any:
    text = page.read_text("utf-8")
    (data,) = re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(data)


def _findings(page: Path) -> list[tuple[str, str]]:
    """The needs of all partitions, with what is said of them."""
    data = _data(page)
    return [
        (data["kindNames"][need], text) for each in data["partitions"] for need, text in each[5]
    ]


def test_every_command_writes_the_page_with_what_it_printed(
    tmp_path: Path, page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["--lake", str(tmp_path / "lake"), "--report", str(page), *_ALONE]
    source = ["--source", str(_SAMPLE)]
    for name, main, more, code in (
        ("ingest", ingest_command.main, source, 3),
        ("replay", replay_command.main, source, 0),
        ("retake", retake_command.main, source, 0),
        ("audit", audit_command.main, [], 0),
    ):
        assert main([*common, *more]) == code
        first = capsys.readouterr().out.splitlines()[0]
        text = page.read_text("utf-8")
        assert f"<code>seglake {name}</code> ended with exit code <b>{code}</b>" in text
        assert f"<li>{first}</li>" in text
        page.unlink()


def test_partition_that_a_run_left_out_needs_a_look(tmp_path: Path, page: Path) -> None:
    disk = tmp_path / "disk"
    make_log_dir(disk, {("orders", 0): [0, 20, 40]})
    last = disk / "orders-0" / f"{20:020}.log"
    last.rename(last.with_suffix(".log.gz"))
    command = ["--source", str(disk), "--lake", str(tmp_path / "lake"), *_ALONE]
    assert ingest_command.main([*command, "--report", str(page)]) == 3
    ((need, text),) = _findings(page)
    assert need == "left_out"
    assert "decompress in place and run again" in text
    assert "exit code <b>3</b>" in page.read_text("utf-8")


def test_what_the_run_alone_knows_of_a_partition_needs_a_look(tmp_path: Path, page: Path) -> None:
    disk = unknown_end_log_dir(tmp_path / "disk")
    command = ["--source", str(disk), "--lake", str(tmp_path / "lake"), *_ALONE]
    assert ingest_command.main([*command, "--report", str(page)]) == 3
    assert ": check them" in dict(_findings(page))["doubtful_outcome"]


def test_what_an_audit_cannot_explain_needs_a_look(tmp_path: Path, page: Path) -> None:
    lake, disk = tmp_path / "lake", tmp_path / "disk"
    make_log_dir(disk, {("orders", 0): [0, 20]})
    assert ingest_command.main(["--source", str(disk), "--lake", str(lake), *_ALONE]) == 0
    falsified(lake, "records", lambda rows: [*rows, rows[0]])
    assert audit_command.main(["--lake", str(lake), "--report", str(page), *_ALONE]) == 3
    found = dict(_findings(page))
    assert "offsets more than once in records" in found["offset_twice"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--dry-run"], "a dry run adds nothing to the lake"),
        (["--format", "parquet"], "a conversion to Parquet has no ledger"),
        (["--report", "."], "it is a folder"),
        (["--report", "ftp://host/page"], "cannot open 'ftp://host/page'"),
    ],
)
def test_report_that_cannot_be_ends_with_2_before_anything_is_done(
    tmp_path: Path, page: Path, options: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    common = ["--source", str(_SAMPLE), "--lake", str(lake), "--report", str(page), *_ALONE]
    assert ingest_command.main([*common, *options]) == 2
    assert why in capsys.readouterr().err
    assert not lake.exists()
    assert not page.exists()


def test_page_that_cannot_be_written_ends_with_1_after_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_log_dir(tmp_path / "disk", {("orders", 0): [0, 20]})
    lake = tmp_path / "lake"
    page = ["--report", "/proc/page.html"]  # where nobody makes a file
    source = ["--source", str(tmp_path / "disk")]
    assert ingest_command.main(["--lake", str(lake), *source, *page, *_ALONE]) == 1
    printed = capsys.readouterr()
    assert "records in" in printed.out
    assert "cannot write /proc/page.html" in printed.err
    assert len(read_table(lake, "checkpoints")) == 1


def test_a_run_that_makes_no_lake_writes_no_page_and_says_so(
    tmp_path: Path, page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_log_dir(tmp_path / "disk", {("__consumer_offsets", 0): [0, 20]})
    where = ["--source", str(tmp_path / "disk"), "--lake", str(tmp_path / "lake")]
    assert ingest_command.main([*where, "--report", str(page), *_ALONE]) == 0
    printed = capsys.readouterr()
    assert "nothing new" in printed.out
    assert printed.err.startswith("seglake: no report was written: ")
    assert not page.exists()


def test_a_page_replaces_no_pipe_and_no_device(
    tmp_path: Path, page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(page)
    lake = tmp_path / "lake"
    options = ["--source", str(_SAMPLE), "--lake", str(lake), "--report", str(page), *_ALONE]
    assert ingest_command.main(options) == 2
    assert "it is no regular file" in capsys.readouterr().err
    assert (page.is_fifo(), lake.exists()) == (True, False)
    with (tmp_path / "kept.txt").open("w") as held:
        options[5] = f"/dev/fd/{held.fileno()}"
        assert ingest_command.main(options) == 2
    assert "it is no regular file" in capsys.readouterr().err
