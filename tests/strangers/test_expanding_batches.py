"""Sound batches of some KB that expand to more than the limit: the command that is named works."""

import re
import shlex
from pathlib import Path

import pytest
import zstandard

from seglake.cli.main import main
from seglake.findings.kinds import FindingKind
from seglake.task_engine.engine import Engine
from support.audits import audited
from support.encoder import (
    Codec,
    EncodedBatch,
    Header,
    Partition,
    Record,
    Segment,
    payload_batch,
    record_batch,
    record_bytes,
    write_log_dir,
)
from support.lakes import ingested, read_table, replayed
from support.made_logs import value_of
from support.reports import reported

COUNT = 140
LOW = {"max_decompressed_batch_bytes": "1MiB"}
HIGH = {"max_decompressed_batch_bytes": "1GiB"}


def expanding_disk(folder: Path, *, filling: int, value_bytes: int = 20_000) -> Path:
    """Offsets [1, 141) are one batch, whose values have some random bytes and many alike."""
    values = [value_of("json", 0, offset, filling) for offset in range(COUNT)]
    values = [value.ljust(value_bytes, b"z") for value in values]
    payload = b"".join(
        record_bytes(Record(b"k", value), index, 0) for index, value in enumerate(values)
    )
    header = Header(last_offset_delta=COUNT - 1, record_count=COUNT)
    large = payload_batch(1, zstandard.compress(payload), header, codec=Codec.ZSTD)
    batches = [plain(0), large, plain(COUNT + 1)]
    write_log_dir(folder, [Partition("json", 0, [Segment(0, batches)])])
    return folder


def plain(offset: int) -> EncodedBatch:
    return record_batch(offset, [Record(b"k", b"v")])


def commands_in(text: str) -> list[list[str]]:
    return [shlex.split(found) for found in re.findall(r"seglake replay .*", text)]


def run(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that a message showed, in this process; return what it said."""
    assert command[0] == "seglake"
    assert main(command[1:]) == 0
    return capsys.readouterr().out


def is_whole(lake: Path) -> bool:
    offsets = sorted(row["offset"] for row in read_table(lake, "records"))
    return offsets == list(range(COUNT + 2)) and audited(lake).exit_code == 0


@pytest.mark.parametrize("filling", [0, 10_000], ids=["kept_whole", "above_max_raw_bytes"])
def test_command_of_the_summary_brings_the_records(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str], filling: int
) -> None:
    disk, lake = expanding_disk(tmp_path / "a disk", filling=filling), tmp_path / "lake"
    summary = ingested(disk, lake, engine=engine, limits=LOW)
    assert summary.exit_code == 3
    (line,) = [line for line in summary.to_text().splitlines() if line.startswith("too large: ")]
    assert "1 batch above limits.max_decompressed_batch_bytes (1.0 MiB)" in line
    (command,) = commands_in(line)
    assert "1 gap in json-0" in run(command, capsys)
    assert is_whole(lake)


def test_commands_of_audit_report_and_replay_bring_the_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disk, lake = expanding_disk(tmp_path / "disk", filling=0), tmp_path / "lake"
    ingested(disk, lake, limits=LOW)
    main(["audit", "--lake", str(lake)])
    (of_audit,) = commands_in(capsys.readouterr().out)
    (of_replay,) = commands_in(replayed(lake, limits=LOW).to_text())
    (partition,) = reported(lake).partitions
    assert FindingKind.TOO_LARGE in [finding.kind for finding in partition.findings]
    assert of_audit == of_replay
    run(of_audit, capsys)
    assert is_whole(lake)
    assert "seglake replay" not in replayed(lake, limits=LOW).to_text()
    main(["audit", "--lake", str(lake)])
    assert commands_in(capsys.readouterr().out) == []


def test_replay_says_of_which_bytes_the_lake_has_only_the_first(tmp_path: Path) -> None:
    disk, lake = expanding_disk(tmp_path / "disk", filling=10_000), tmp_path / "lake"
    ingested(disk, lake, limits=LOW)
    assert "not all bytes: 1 quarantined span " in replayed(lake, limits=HIGH).to_text()
    assert "not all bytes" not in replayed(lake, disk, limits=HIGH).to_text()
    assert is_whole(lake)


def test_inspect_names_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    disk = expanding_disk(tmp_path / "disk", filling=0, value_bytes=500_000)
    main(["inspect", str(disk / "json-0")])
    assert "(limits.max_decompressed_batch_bytes)" in capsys.readouterr().out
