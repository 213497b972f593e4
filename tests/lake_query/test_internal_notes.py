"""What is said beside answers over internal topics that the lake lacks, or has in part."""

import shlex
from pathlib import Path

import pytest

from seglake.cli import ingest_command, sql_command
from support.encoder import EncodedBatch, Partition, Segment
from support.internal_logs import INTERNAL, OFFSETS, commits
from support.lakes import ingested
from support.made_logs import made_segments, write_over

_GROUPS, _LEADERS = "SELECT * FROM group_lag", "SELECT * FROM partition_leaders"


def _noted(lake: Path, statement: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert sql_command.main(["--lake", str(lake), statement]) == 0
    return capsys.readouterr().err.splitlines()


def _offsets(number: int, *batches: EncodedBatch, high_watermark: int | None = None) -> Partition:
    return Partition(OFFSETS, number, [Segment(0, batches)], high_watermark=high_watermark)


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Three records of a topic, and a group that has read one of them."""
    orders = Partition("orders", 3, made_segments("orders", 3, [0, 3]), high_watermark=3)
    return write_over(tmp_path / "disk", [orders, _offsets(0, commits(0, 1))])


@pytest.mark.parametrize("bound", ["high_watermark", "log_end"])
def test_command_that_is_noted_fills_the_empty_view(
    disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], bound: str
) -> None:
    lake = tmp_path / "lake"
    ingested(disk, lake, read={"upper_bound": bound})
    (note,) = _noted(lake, _GROUPS, capsys)
    assert note.startswith("seglake: the lake has no __consumer_offsets, so its table and views")
    assert "If a run with --rescue or --internal-topics has read the brokers' disks" in note
    name, command, *words = shlex.split(note[note.index("seglake ingest") :])
    assert (name, command, words[words.index("--engine") + 1]) == ("seglake", "ingest", "local")
    assert ("log_end" in words) == (bound == "log_end")
    assert ingest_command.main([str(disk) if word == "LOG_DIR" else word for word in words]) == 0
    capsys.readouterr()
    assert sql_command.main(["--lake", str(lake), "--csv", "SELECT lag FROM group_lag"]) == 0
    assert capsys.readouterr() == ("lag\n2\n", "")


def test_nothing_is_noted_of_answers_that_need_no_internal_topic(
    disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingested(disk, tmp_path / "lake")
    of_columns = ("SELECT transaction_state FROM records", "SELECT count(*) FROM settled_records")
    for statement in ("SELECT count(*) FROM records", "SHOW TABLES", "SELECT 1", *of_columns):
        assert _noted(tmp_path / "lake", statement, capsys) == []
    for read in (
        "FROM transaction_state",
        "FROM records r JOIN `transaction_state` ON true",
    ):
        (note,) = _noted(tmp_path / "lake", f"SELECT count(*) {read}", capsys)
        assert "the lake has no __transaction_state" in note


def test_of_two_statements_over_one_topic_the_note_comes_once(
    disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingested(disk, tmp_path / "lake")
    notes = _noted(tmp_path / "lake", f"{_GROUPS}; SELECT * FROM group_offsets", capsys)
    assert len(notes) == 1


def test_parquet_file_of_an_empty_view_is_noted(
    disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingested(disk, tmp_path / "lake")
    file = str(tmp_path / "lag.parquet")
    assert sql_command.main(["--lake", str(tmp_path / "lake"), _GROUPS, "--parquet", file]) == 0
    assert "the lake has no __consumer_offsets" in capsys.readouterr().err


def test_zookeeper_clusters_are_said_to_have_no_metadata_log(
    disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingested(disk, tmp_path / "lake", select=INTERNAL)
    (note,) = _noted(tmp_path / "lake", _LEADERS, capsys)
    assert "the lake has no __cluster_metadata" in note
    assert "those of ZooKeeper clusters have none" in note


def test_topic_that_is_there_in_part_is_noted_with_what_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waits = _offsets(1, commits(0, 1), commits(1, 2), high_watermark=1)
    hole = _offsets(3, commits(0, 1), commits(5, 2))
    disk = write_over(tmp_path / "disk", [waits, hole])
    ingested(disk, tmp_path / "lake", select=INTERNAL)
    assert _noted(tmp_path / "lake", "SELECT * FROM group_offsets", capsys) == [
        "seglake: the lake has only parts of __consumer_offsets, so the answer may be old: no disk"
        " had partitions 0, 2; partition 1 not ingested to the log's end (for a dead cluster,"
        " ingest with --upper-bound log_end); offsets of partition 3 missing or quarantined"
    ]
