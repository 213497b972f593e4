"""`inspect` of a remote tier's folders and objects: what is there, and which key it needs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from seglake.cli.main import main
from support import aiven_objects
from support.broker_disks import unpacked
from support.tiers import ENC, LOCAL, PLAIN, copied

_KEY = ["--tiered-key", f"key1={aiven_objects.key_file()}"]


@pytest.fixture
def inspected(capsys: pytest.CaptureFixture[str]) -> Any:
    """Inspects as JSON; returns the exit code and the lines."""

    def run(*call: object) -> tuple[int, list[dict[str, Any]]]:
        code = main(["inspect", "--json", *map(str, call)])
        return int(code), [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def _of(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["type"] == kind]


def test_each_segment_of_a_tier_is_a_line_from_its_manifest(inspected: Any) -> None:
    tier = unpacked(ENC) / "remote"
    code, lines = inspected(tier, *_KEY)
    assert code == 0
    manifests = {path.name[21:43]: json.loads(path.read_text()) for path in tier.rglob("*manifest")}
    entries = {line["segment_id"]: line for line in _of(lines, "entry")}
    assert entries.keys() == manifests.keys()
    for name, line in entries.items():
        metadata, index = (manifests[name][of] for of in ("remoteLogSegmentMetadata", "chunkIndex"))
        assert line["start_offset"] == metadata["startOffset"]
        assert line["next_offset"] == metadata["endOffset"] + 1
        assert line["size_bytes"] == index["originalFileSize"]
        assert line["chunk_bytes"] == index["originalChunkSize"]
        assert (line["key_id"], line["compressed"]) == ("key1", False)
    assert len(_of(lines, "file")) == len(_of(lines, "summary")) == 5


def test_the_key_that_a_tier_needs_is_named_once_for_each_folder(inspected: Any) -> None:
    tier = unpacked(ENC) / "remote"
    code, lines = inspected(tier)
    assert code == 3
    assert [line["kind"] for line in _of(lines, "finding")] == ["no_key"] * 5
    assert [line["findings_by_kind"] for line in _of(lines, "summary")] == [{"no_key": 1}] * 5


def test_a_person_sees_the_key_that_a_tier_needs(capsys: pytest.CaptureFixture[str]) -> None:
    tier = unpacked(ENC) / "remote"
    assert main(["inspect", str(tier)]) == 3
    lines = [line for line in capsys.readouterr().out.splitlines() if "  no key: " in line]
    assert len(lines) == len([*tier.glob("*/*")]) == 5
    assert all(line.endswith("give --tiered-key key1=FILE") for line in lines)


def test_objects_that_belong_to_no_readable_segment_are_findings(
    inspected: Any, tmp_path: Path
) -> None:
    folder = next((unpacked(PLAIN) / "remote").glob("plain-*")) / "0"
    copy = Path(shutil.copytree(folder, tmp_path / folder.parent.name / "0"))
    one, other, *_ = sorted(copy.glob("*.rsm-manifest"))
    one.unlink()
    other.with_suffix(".log").unlink()
    _, lines = inspected(copy)
    first, second = (line["text"] for line in _of(lines, "finding"))
    assert f"has no {one.name}: the upload did not end" in first
    assert second.endswith(f"the tier has no object of segment {other.name[21:43]}")
    assert len(_of(lines, "entry")) == len([*folder.glob("*.log")])


def test_an_object_is_shown_by_its_manifest(inspected: Any) -> None:
    log = min((unpacked(ENC) / "remote").rglob("plain-*/0/*.log"))
    _, by_manifest = inspected(log.with_suffix(".rsm-manifest"), *_KEY)
    assert len(_of(by_manifest, "batch")) > 0
    for suffix in (".log", ".indexes"):
        assert inspected(log.with_suffix(suffix), *_KEY)[1] == by_manifest


def test_segments_of_kafkas_local_tier_are_lines(inspected: Any) -> None:
    code, lines = inspected(unpacked(LOCAL) / "remote")
    assert code == 0
    logs = {path.name[21:43]: path for path in (unpacked(LOCAL) / "remote").rglob("*.log")}
    entries = _of(lines, "entry")
    assert {line["segment_id"] for line in entries} == logs.keys()
    assert all(line["stored_bytes"] == logs[line["segment_id"]].stat().st_size for line in entries)


def test_a_disk_with_its_tier_shows_both(inspected: Any) -> None:
    _, lines = inspected(unpacked(LOCAL))
    kinds = {line.get("kind") for line in _of(lines, "summary")}
    assert {"folder", "partition_folder", "log_dir"} <= kinds


@pytest.mark.parametrize("disk", [PLAIN, ENC, LOCAL])
def test_objects_of_listed_uploads_are_no_unread_files(
    inspected: Any, tmp_path: Path, disk: str
) -> None:
    both = copied(disk, tmp_path / "both").folder
    shutil.rmtree(both / "data" / "plain-0")  # without a log, nothing accounts for its objects
    code, lines = inspected("--check", both, *(_KEY if disk == ENC else ()))
    kinds = {line["kind"] for line in _of(lines, "finding")}
    assert (code, kinds) == (0, {"note"})


def test_files_that_are_no_objects_are_unread_in_a_tier_too(inspected: Any, tmp_path: Path) -> None:
    both = copied(LOCAL, tmp_path / "both").folder
    (next((both / "remote").rglob("plain-0-*")) / "older.tar.gz").write_bytes(b"x")
    _, lines = inspected("--check", both)
    texts = [line["text"] for line in _of(lines, "finding") if line["kind"] != "note"]
    assert [": 1 archive (older.tar.gz)" in text for text in texts] == [True]


def test_files_beside_a_tier_alone_are_unread(inspected: Any, tmp_path: Path) -> None:
    tier = copied(LOCAL, tmp_path / "disk").remote
    (tier / "older.tar.gz").write_bytes(b"x")
    code, lines = inspected("--check", tier)
    assert (code, lines[-1]["findings_by_kind"]) == (3, {"not_read": 1})
    assert f"{tier}: 1 archive (older.tar.gz)" in lines[-2]["text"]
