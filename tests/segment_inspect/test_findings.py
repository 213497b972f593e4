"""What an inspection finds is of the catalogue's kinds, which decide whether a person must look."""

import gzip
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seglake.cli import inspect_command
from seglake.pipelines.segment_inspect.run import inspected
from seglake.storage.errors import StorageError
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import FileInfo, Reader
from support.encoder import Partition, Record, Segment, record_batch, write_log_dir
from support.looks import LOG, of_type

RECORDS = [Record(b"k", b"v"), Record(b"k", b"w")]
GOOD = [record_batch(start, RECORDS) for start in (0, 2, 4)]


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    write_log_dir(tmp_path / "disk", [Partition("t", 0, [Segment(0, GOOD)], high_watermark=6)])
    return tmp_path / "disk"


def rewritten(disk: Path, data: bytes) -> None:
    (disk / "t-0" / LOG).write_bytes(data)


def damage(disk: Path) -> None:
    rewritten(disk, b"".join((GOOD[0].data, GOOD[1].data[:-1] + b"?", GOOD[2].data)))


def hole(disk: Path) -> None:
    rewritten(disk, GOOD[0].data + GOOD[2].data)


def torn_end(disk: Path) -> None:
    rewritten(disk, b"".join(batch.data for batch in GOOD) + record_batch(6, RECORDS).data[:70])


def zeros(disk: Path) -> None:
    rewritten(disk, b"".join(batch.data for batch in GOOD) + bytes(70))


def side_file(disk: Path) -> None:
    (disk / "replication-offset-checkpoint").write_text("0\n1\nt zero 1\n")


def compressed_segment(disk: Path) -> None:
    log = disk / "t-0" / LOG
    log.with_name(f"{LOG}.gz").write_bytes(gzip.compress(log.read_bytes()))
    log.unlink()


def segment_in_a_named_folder(disk: Path) -> None:
    (disk / "old").mkdir()
    (disk / "old" / LOG).write_bytes(GOOD[0].data)


def loose_segment(disk: Path) -> None:
    (disk / LOG).write_bytes(GOOD[0].data)


def archive(disk: Path) -> None:
    (disk / "more.tar").write_bytes(b"archive")


def folder_of_the_file_system(disk: Path) -> None:
    (disk / "lost+found").mkdir()


def folder_of_the_broker(disk: Path) -> None:
    (disk / "remote-log-index-cache").mkdir()
    (disk / "remote-log-index-cache" / "0_x.index").write_bytes(b"")


def folder_marked_for_deletion(disk: Path) -> None:
    given_up = disk / f"t-1.{uuid.UUID(int=1).hex}-delete"
    given_up.mkdir()
    (given_up / LOG).write_bytes(GOOD[0].data)


def links_to_nowhere(disk: Path) -> None:
    for name in ("t-1", "unknown", "cleaner-offset-checkpoint", "t-0/leader-epoch-checkpoint"):
        (disk / name).unlink(missing_ok=True)
        (disk / name).symlink_to("/nowhere")


def folder_whose_long_topic_kafka_cuts(disk: Path) -> None:
    for state in ("delete", "stray"):
        suffix = f"-1.{uuid.UUID(int=1).hex}-{state}"
        cut = disk / (("t" * 249)[: 255 - len(suffix)] + suffix)
        cut.mkdir()
        (cut / LOG).write_bytes(GOOD[0].data)


@pytest.mark.parametrize(
    ("change", "expected", "code"),
    [
        (damage, {"damaged": 1}, 3),
        (hole, {"missing": 1}, 3),
        (torn_end, {"torn_end": 1}, 3),
        (zeros, {"note": 1}, 0),
        (side_file, {"damaged_file": 1}, 3),
        (compressed_segment, {"left_out": 1}, 3),
        (segment_in_a_named_folder, {"not_read": 1, "note": 1}, 3),
        (loose_segment, {"not_read": 1}, 3),
        (archive, {"not_read": 1}, 3),
        (folder_of_the_file_system, {"note": 1}, 0),
        (folder_of_the_broker, {"note": 1}, 0),
        (folder_marked_for_deletion, {"note": 1}, 0),
        (links_to_nowhere, {"left_out": 2, "damaged_file": 2}, 3),
        (folder_whose_long_topic_kafka_cuts, {"note": 2}, 0),
    ],
)
def test_a_kind_decides_the_exit_code(
    change: Callable[[Path], None],
    expected: dict[str, int],
    code: int,
    disk: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change(disk)
    found = [line for line in inspected(str(disk), LocalStorage()) if line["type"] == "finding"]
    assert Counter(line["kind"] for line in found) == expected
    assert any(line["needs_a_look"] for line in found) == (code == 3)
    assert [inspect_command.main([str(disk), *check]) for check in ([], ["--check"])] == [0, code]
    printed = capsys.readouterr().out
    assert all(line["text"].partition(": ")[2] in printed for line in found)


def test_a_finding_follows_what_it_is_about_and_each_summary_counts_its_own(
    tmp_path: Path, json_look: Any
) -> None:
    bad = GOOD[1]._replace(data=GOOD[1].data[:-1] + b"?")
    parts = [
        Partition("bad", 0, [Segment(0, [GOOD[0], bad, GOOD[2]])]),
        Partition("good", 0, [Segment(0, GOOD)]),
    ]
    for name in ("one", "two"):
        write_log_dir(tmp_path / name, parts)
    (tmp_path / "two" / "old").mkdir()
    lines = json_look(tmp_path)
    at = [number for number, line in enumerate(lines) if line["type"] == "finding"]
    assert [lines[number - 1]["type"] for number in at] == ["defect", "defect", "summary"]
    assert lines[at[0]] == {
        "type": "finding",
        "kind": "damaged",
        "needs_a_look": True,
        "place": f"bad-0/{LOG}",
        "ranges": [[2, 4]],
        "text": lines[at[0]]["text"],
        "position": len(GOOD[0].data),
        "size_bytes": len(bad.data),
        "defect_code": "crc_mismatch",
    }
    damaged = {"damaged": 1}
    counts = [line["findings_by_kind"] for line in of_type(lines, "summary")]
    assert counts == [
        *(damaged, {}, damaged),
        *(damaged, {}, damaged | {"note": 1}),
        {"damaged": 2, "note": 1},
    ]


class Unlistable(LocalStorage):
    """Fails to list one folder, and to read files with one ending."""

    def __init__(self, folder: str, ending: str) -> None:
        super().__init__()
        self._folder, self._ending = folder, ending

    def list_folder(self, path: str) -> list[FileInfo]:
        if path.endswith(self._folder):
            raise StorageError(action="list", path=path, reason="Input/output error")
        return super().list_folder(path)

    def open_reader(self, path: str) -> Reader:
        if path.endswith(self._ending):
            raise StorageError(action="read", path=path, reason="Input/output error")
        return super().open_reader(path)


@pytest.mark.parametrize("marked", ["", f".{uuid.UUID(int=1).hex}-delete"])
def test_a_folder_or_a_segment_that_cannot_be_read_is_left_out(disk: Path, marked: str) -> None:
    (disk / "t-0").rename(disk / f"t-0{marked}")
    for storage in (Unlistable(f"t-0{marked}", "?"), Unlistable("?", LOG)):
        *lines, summary = inspected(str(disk), storage)
        assert summary["findings_by_kind"]["left_out"] == 1
        (found,) = (line for line in lines if line.get("kind") == "left_out")
        assert found["needs_a_look"]
        assert "Input/output error" in found["text"]
