"""The exit codes of the command: 0 whatever the bytes, 2 where nothing can be looked into."""

import io
import json
import os
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from seglake.cli import inspect_command
from support import broker_disks
from support.encoder import Partition, Record, Segment, record_batch, write_log_dir
from support.lakes import ingested
from support.made_logs import write_over

LOG = "00000000000000000000.log"


class Done(NamedTuple):
    """As a process would have ended; `tests/jobs/test_job_files.py` starts the file as one."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str | Path) -> Done:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = inspect_command.main([str(argument) for argument in arguments])
        except SystemExit as wrong_call:
            code = int(wrong_call.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    good, bad = record_batch(0, [Record(b"k", b"v")]), record_batch(1, [Record(b"k", b"w")])
    segments = [Segment(0, [good, bad._replace(data=bad.data[:-1] + b"?")])]
    write_log_dir(tmp_path / "data", [Partition("t", 0, segments)])
    return tmp_path / "data"


@pytest.mark.parametrize("path", ["", "t-0", f"t-0/{LOG}", "meta.properties"])
def test_damage_or_not_the_code_is_0(log_dir: Path, path: str) -> None:
    done = run(log_dir / path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_damage_is_printed_as_json_lines(log_dir: Path) -> None:
    done = run(log_dir / "t-0" / LOG, "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    types = ["file", "batch", "batch", "defect", "finding", "summary"]
    assert [line["type"] for line in lines] == types


def test_garbage_is_no_failure(tmp_path: Path) -> None:
    for name in (LOG, "00000000000000000000.index", "meta.properties", "anything"):
        (tmp_path / name).write_bytes(bytes(range(256)) * 5)
        done = run(tmp_path / name, "--records")
        assert (done.returncode, done.stderr) == (0, "")


def test_missing_path_is_a_wrong_call(tmp_path: Path) -> None:
    done = run(tmp_path / "nothing")
    assert (done.returncode, done.stdout) == (2, "")
    expected = f"seglake: cannot inspect {tmp_path}/nothing: there is no such file or folder"
    assert done.stderr.startswith(expected)
    assert "Traceback" not in done.stderr


def test_path_that_cannot_be_read_is_a_wrong_call(tmp_path: Path) -> None:
    loop = tmp_path / LOG
    loop.symlink_to(loop)
    (tmp_path / "a-file").write_bytes(b"")
    for path in (loop, tmp_path / "a-file" / LOG):
        done = run(path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"seglake: cannot inspect {path}: ")
        assert done.stderr.count(str(path)) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_file_without_permission_is_a_wrong_call(tmp_path: Path) -> None:
    (tmp_path / LOG).write_bytes(b"")
    (tmp_path / LOG).chmod(0)
    assert run(tmp_path / LOG).returncode == 2


def test_folder_that_is_no_log_dir_is_a_wrong_call(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "neither a partition's nor a broker's log dir" in done.stderr


def test_folder_above_log_dirs_is_looked_into_as_ingest_does(log_dir: Path) -> None:
    second = log_dir.parent / "disks" / "second"
    second.parent.mkdir()
    shutil.copytree(log_dir, second)
    (log_dir.parent / "notes").mkdir()
    done = run(log_dir.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in done.stdout.splitlines() if line.startswith("log dir ")] == [
        f"log dir {log_dir}",
        f"log dir {second}",
    ]
    assert done.stdout.count("\n  t-0 ") == 2
    assert done.stdout.count("  meta.properties ") == 2
    lines = [json.loads(line) for line in run(log_dir.parent, "--json").stdout.splitlines()]
    *_, one, both = [line for line in lines if line["type"] == "summary"]
    assert (both["kind"], both["path"]) == ("folder", str(log_dir.parent))
    assert (one["kind"], both["batches"]) == ("log_dir", 2 * one["batches"])


def test_folder_above_one_log_dir_shows_that(log_dir: Path) -> None:
    assert run(log_dir.parent).stdout == run(log_dir).stdout


@pytest.mark.parametrize("folder", ["lake", "lake/records"])
def test_lake_is_refused_with_the_commands_that_read_it(log_dir: Path, folder: str) -> None:
    ingested(log_dir, log_dir.parent / "lake")
    done = run(log_dir.parent / folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "it has the tables of a lake: query them with `seglake sql`" in done.stderr


@pytest.mark.parametrize("name", ["disk.tar.gz", "DISK.ZIP", f"{LOG}.gz"])
def test_archive_is_refused_with_what_to_do(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x1f\x8b packed")
    done = run(tmp_path / name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(": it is an archive: unpack it, and inspect the unpacked files\n")


def test_segment_under_the_name_of_an_archive_is_shown(log_dir: Path) -> None:
    renamed = (log_dir / "t-0" / LOG).rename(log_dir.parent / "renamed.gz")
    assert run(renamed).returncode == 0


def test_part_is_chosen_by_options(log_dir: Path) -> None:
    path = log_dir / "t-0" / LOG

    def kinds(*options: str) -> list[str]:
        return [
            json.loads(line)["type"] for line in run(path, "--json", *options).stdout.splitlines()
        ]

    assert kinds("--offset", "0") == ["file", "batch", "record", "summary"]
    assert kinds("--from", "1") == ["file", "batch", "defect", "finding", "summary"]
    assert kinds("--only-defects") == ["file", "batch", "defect", "finding", "summary"]


@pytest.mark.parametrize("options", [("--from", "-1"), ("--from", "x"), ("--from", "1")])
def test_part_that_cannot_be_is_a_wrong_call(log_dir: Path, options: tuple[str, str]) -> None:
    assert run(log_dir, *options).returncode == 2


def test_unknown_scheme_is_a_wrong_call() -> None:
    assert run("ftp://host/path").returncode == 2


def test_negative_offset_is_a_wrong_call(log_dir: Path) -> None:
    assert run(log_dir / "t-0", "--offset", "-1").returncode == 2


@pytest.mark.parametrize(
    ("scenario", "copy"),
    [("05_compacted", "after"), ("07_delete_records", "stopped"), ("11_kraft", "stopped")],
)
def test_check_finds_nothing_on_the_disks_of_healthy_brokers(scenario: str, copy: str) -> None:
    assert run(broker_disks.log_dir(scenario, copy), "--check").returncode == 0


@pytest.mark.parametrize("path", ["", "t-0", f"t-0/{LOG}"])
@pytest.mark.parametrize("shown", [[], ["--json"], ["--only-defects"]])
def test_check_ends_with_3_for_damage_shown_or_not(
    log_dir: Path, path: str, shown: list[str]
) -> None:
    assert run(log_dir / path, "--check", *shown).returncode == 3


def test_check_ends_with_3_for_side_files_torn_ends_and_offsets_that_are_not_there(
    tmp_path: Path,
) -> None:
    batch = record_batch(0, [Record(b"k", b"v")])
    torn = record_batch(1, [Record(b"k", b"w")])
    cut = Segment(0, [batch, torn._replace(data=torn.data[:-1])])
    disk = write_over(tmp_path / "torn", [Partition("t", 0, [cut])])
    assert run(disk, "--check").returncode == 3
    disk = write_over(tmp_path / "index", [Partition("t", 0, [Segment(0, [batch])])])
    assert run(disk / "t-0", "--check").returncode == 0
    assert run(disk / "t-0", "--offset", "0", "--check").returncode == 0
    assert run(disk / "t-0", "--offset", "7", "--check").returncode == 3
    (disk / "replication-offset-checkpoint").write_text("0\n1\nt zero 1\n")
    assert run(disk, "--check").returncode == 3
    assert run(disk / "replication-offset-checkpoint", "--check").returncode == 3


def test_check_does_not_pass_a_file_of_which_nothing_is_inspected(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("not a segment")
    done = run(tmp_path / "README.md", "--check")
    assert (done.returncode, "not inspected" in done.stdout) == (3, True)
    assert run(tmp_path / "README.md").returncode == 0


def test_partition_with_a_hole_is_named_and_not_valid(tmp_path: Path) -> None:
    batches = [record_batch(offset, [Record(b"k", b"v")]) for offset in (0, 1, 5, 9)]
    parts = [
        Partition("hole", 0, [Segment(0, batches)]),
        Partition("t", 0, [Segment(0, batches[:2])]),
    ]
    disk = write_over(tmp_path / "data", parts)
    done = run(disk, "--check")
    lines = [line.split() for line in done.stdout.splitlines()]
    at = next(index for index, line in enumerate(lines) if line[:1] == ["hole-0"])
    assert done.returncode == 3
    assert lines[at][-3:] == ["MISSING:", "6", "offsets"]
    assert [" ".join(line) for line in lines[at + 1 : at + 3]] == [
        "hole-0, 2-4: not there",
        "hole-0, 6-8: not there",
    ]
    assert (lines[at + 3][0], lines[at + 3][-1]) == ("t-0", "valid")


@pytest.mark.parametrize("folder", ["orders-0", "disk", "new"])
def test_check_does_not_pass_a_folder_in_which_no_record_is_checked(
    folder: str, tmp_path: Path
) -> None:
    disk = write_over(tmp_path / "disk", [Partition("orders", 0, [Segment(0, [])])])
    assert run(disk, "--check").returncode == 0
    for segment in disk.rglob("*.log"):
        segment.unlink()
    (tmp_path / "new").mkdir()
    shutil.copy(disk / "meta.properties", tmp_path / "new")
    done = run((disk if folder == "orders-0" else tmp_path) / folder, "--check")
    assert (done.returncode, "so no record was checked" in done.stdout) == (3, True)
    assert "valid" not in done.stdout.partition("summary")[0]


@pytest.mark.parametrize("kind", ["future", "delete", "stray"])
def test_check_passes_a_folder_without_segments_that_no_ingest_reads(
    kind: str, tmp_path: Path
) -> None:
    disk = write_over(tmp_path / "disk", [Partition("orders", 0, [Segment(0, [])])])
    (disk / f"orders-1.{'0' * 32}-{kind}").mkdir()
    assert run(disk, "--check").returncode == 0
