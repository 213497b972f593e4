"""What a person sees, line by line, for each kind of file."""

import gzip
import re
import shutil
import uuid
from pathlib import Path
from typing import Any

import pytest

from support.encoder import (
    Aborted,
    Codec,
    ControlType,
    Header,
    Partition,
    Producer,
    ProducerEntry,
    Record,
    Segment,
    end_marker,
    message,
    record_batch,
    wrapper,
    write_log_dir,
)
from support.looks import TIME_MS

FIRST = "orders-0/00000000000000000000.log"
SECOND = "orders-0/00000000000000000010.log"
PAIR = [Record(b"k", b"one", TIME_MS, (("h", b"x"),)), Record(None, b"\x00\xff", TIME_MS + 5)]


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """Two segments of one partition: v0 and v1, then a transaction, damage, and a torn end."""
    damaged = record_batch(18, PAIR, codec=Codec.GZIP)
    first = [
        message(0, PAIR[0], 0),
        wrapper(1, PAIR, 1, Codec.GZIP),
    ]
    second = [
        record_batch(10, PAIR, Header(3, Producer(7, 0, 0), is_transactional=True)),
        end_marker(12, ControlType.ABORT, producer_id=7, timestamp_ms=TIME_MS + 9, leader_epoch=3),
        damaged._replace(data=damaged.data[:-1] + bytes([damaged.data[-1] ^ 1])),
        record_batch(20, PAIR),
    ]
    folder = tmp_path / "data"
    segments = [
        Segment(0, first, index_interval_bytes=10),
        Segment(
            10,
            second,
            tail=record_batch(22, PAIR).data[:70],
            index_interval_bytes=100,
            aborted=[Aborted(7, 10, 12, 13)],
            snapshot=[ProducerEntry(7, timestamp_ms=TIME_MS)],
        ),
    ]
    write_log_dir(
        folder,
        [
            Partition(
                "orders",
                0,
                segments,
                high_watermark=22,
                log_start_offset=2,
                topic_id=uuid.UUID(int=7),
            )
        ],
        cluster_id="a-cluster",
    )
    return folder


def shown(text: str, folder: Path) -> list[str]:
    return text.replace(str(folder), "DIR").rstrip("\n").split("\n")


def golden(name: str) -> list[str]:
    return (Path(__file__).parent / "shown" / f"{name}.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize(
    ("name", "path", "records", "offset"),
    [
        ("log_dir", "", False, None),
        ("partition_folder", "orders-0", False, None),
        ("segment_with_records", FIRST, True, None),
        ("segment_with_damage", SECOND, False, None),
        ("offset_found", SECOND, True, 21),
        ("offset_without_payload", SECOND, False, 11),
        ("offset_damaged", "orders-0", False, 18),
    ],
)
def test_a_person_sees_what_was_agreed(
    name: str, path: str, records: bool, offset: int | None, log_dir: Path, text_look: Any
) -> None:
    text = text_look(log_dir / path, records=records, offset=offset)
    assert shown(text, log_dir) == golden(name)


def test_what_a_broker_had_removed_is_counted_with_its_partition(
    log_dir: Path, text_look: Any
) -> None:
    folder = log_dir / "orders-0"
    (folder / "00000000000000000000.log").rename(folder / "00000000000000000000.log.deleted")
    given_up = log_dir / f"orders-1.{uuid.UUID(int=1).hex}-delete"
    given_up.mkdir()
    (given_up / "00000000000000000000.log").touch()
    size = (folder / "00000000000000000000.log.deleted").stat().st_size
    lines = text_look(log_dir).splitlines()
    assert (
        f"      1 segment that the broker had removed, {size} bytes: an ingest does not read"
        " 00000000000000000000.log.deleted"
    ) in lines
    assert "      note: the folder is marked delete: an ingest does not read it" in lines


def test_a_partition_with_a_compressed_segment_is_not_called_valid(
    log_dir: Path, text_look: Any, json_look: Any
) -> None:
    first = log_dir / "orders-0" / f"{0:020d}.log"
    first.with_name(f"{first.name}.gz").write_bytes(gzip.compress(first.read_bytes()))
    assert "NOT READ" not in text_look(log_dir)  # its bytes are there, too
    first.unlink()
    text = text_look(log_dir)
    assert re.search(r"orders-0 .* NOT READ: 1 segment", text, re.MULTILINE)
    assert "1 compressed segment (00000000000000000000.log.gz): decompress in place" in text
    assert json_look(log_dir / "orders-0")[-1]["unread_segments"] == 1


@pytest.mark.parametrize(("gone", "missing"), [(b"", 0), (b"rest", 5)])
def test_offsets_of_a_compressed_segment_in_the_middle_are_not_read_and_not_missing(
    gone: bytes, missing: int, tmp_path: Path, text_look: Any, json_look: Any
) -> None:
    records = [Record(b"", b"", TIME_MS)] * 5
    batches = [record_batch(start, records) for start in range(0, 40, 5)]
    if gone:  # the end of the first segment, which is not in the compressed one
        del batches[1]
    segments = [
        Segment(at, [batch for batch in batches if at <= batch.base_offset < at + 10])
        for at in range(0, 40, 10)
    ]
    (written,) = write_log_dir(tmp_path, [Partition("t", 0, segments, high_watermark=40)])
    for path in (written.segments[1].path, written.segments[2].path):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    text = text_look(tmp_path)
    assert "NOT READ: 2 segments" in text
    assert (f"MISSING: {missing} offsets" in text) == bool(missing)
    holes = [line for line in json_look(written.folder) if line["type"] == "hole"]
    known = [(hole["start_offset"], hole["next_offset"]) for hole in holes if hole["is_explained"]]
    assert known == [(10, 30)]
    assert [hole["start_offset"] for hole in holes if not hole["is_explained"]] == [5] * bool(gone)


def test_an_archive_beside_partitions_or_log_dirs_is_named(log_dir: Path, text_look: Any) -> None:
    for place in (log_dir / "disk.tar", log_dir.parent / "other.tar.gz"):
        place.write_bytes(b"archive")
        text = text_look(place.parent)
        assert f"1 archive ({place.name})" in text
        assert "unpack into a log dir" in text


def test_a_deleted_folder_does_not_have_the_high_watermark_of_its_successor(
    log_dir: Path, json_look: Any
) -> None:
    live = log_dir / "orders-0"
    given_up = log_dir / f"orders-0.{uuid.UUID(int=1).hex}-delete"
    shutil.copytree(live, given_up)
    assert json_look(live)[-1]["high_watermark"] is not None
    assert json_look(given_up)[-1]["high_watermark"] is None


def test_a_log_with_a_torn_end_is_not_called_valid(tmp_path: Path, text_look: Any) -> None:
    for name, tail in (("torn", record_batch(2, PAIR).data[:70]), ("zero", bytes(70))):
        write_log_dir(
            tmp_path / name, [Partition("orders", 0, [Segment(0, [record_batch(0, PAIR)], tail)])]
        )
    torn, zero = (text_look(tmp_path / name) for name in ("torn", "zero"))
    assert re.search(r"orders-0 .* tail_torn 1$", torn, re.MULTILINE)
    assert "valid, tail_torn" not in torn
    assert "defects    none before the torn end" in torn
    assert re.search(r"orders-0 .* valid, tail_zero 1$", zero, re.MULTILINE)
    assert re.search(r"defects +none$", zero, re.MULTILINE)


def test_a_side_file_is_a_line_per_entry(log_dir: Path, text_look: Any) -> None:
    names = (
        "log-start-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        "meta.properties",
        "orders-0/00000000000000000010.index",
        "orders-0/00000000000000000010.timeindex",
        "orders-0/00000000000000000010.txnindex",
        "orders-0/00000000000000000010.snapshot",
        "orders-0/leader-epoch-checkpoint",
        "orders-0/partition.metadata",
        ".kafka_cleanshutdown",
    )
    lines = [line for name in names for line in shown(text_look(log_dir / name), log_dir)]
    assert lines == golden("side_files")


def test_a_batch_that_the_high_watermark_cuts_is_marked(tmp_path: Path, text_look: Any) -> None:
    batches = [record_batch(start, PAIR) for start in (0, 2, 4)]
    write_log_dir(tmp_path, [Partition("t", 0, [Segment(0, batches)], high_watermark=3)])
    lines = [line for line in text_look(tmp_path / "t-0").splitlines() if " v2, " in line]
    assert ["above high watermark" in line for line in lines] == [False, True, True]


def test_a_log_dir_tells_the_first_defects_and_counts_the_others(
    tmp_path: Path, text_look: Any
) -> None:
    good = [record_batch(n, [Record(b"k", b"v", TIME_MS)]) for n in range(51)]
    bad = [
        each._replace(data=each.data[:-1] + b"?") if each.base_offset % 2 else each for each in good
    ]
    write_log_dir(tmp_path, [Partition("t", 0, [Segment(0, bad)])])
    lines = text_look(tmp_path).splitlines()
    assert sum("crc_mismatch: " in line for line in lines) == 20
    assert "      and 5 more: inspect the folder itself" in lines
