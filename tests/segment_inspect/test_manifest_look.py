"""A segment in Aiven's tiered storage, by its manifest: sound, damaged, and encrypted."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from seglake.errors import ExitCode
from seglake.pipelines.segment_inspect.run import inspect
from seglake.storage.local_storage import LocalStorage
from support import aiven_objects, broker_disks
from support.looks import of_type, one

Line = dict[str, Any]
_TIERS = [tier for tier in broker_disks.TIERS if "aiven" in tier]
_KEY = (("key1", str(aiven_objects.key_file())),)


def looked(
    path: Path, keys: tuple[tuple[str, str], ...] = (), *, check: bool = False
) -> tuple[ExitCode, list[Line]]:
    out = io.StringIO()
    code = inspect(
        str(path),
        LocalStorage(),
        records=True,
        as_json=True,
        out=out,
        key_paths=keys,
        check=check,
    )
    return code, [json.loads(line) for line in out.getvalue().splitlines()]


def manifests(tier: str) -> list[Path]:
    return sorted((broker_disks.unpacked(tier) / "remote").rglob("*.rsm-manifest"))


@pytest.mark.parametrize("tier", _TIERS)
def test_real_segments_are_sound_to_their_last_record(tier: str) -> None:
    for path in manifests(tier):
        code, lines = looked(path, _KEY, check=True)
        entry, summary = one(lines, "entry"), one(lines, "summary")
        assert code is ExitCode.DONE
        assert not of_type(lines, "defect")
        assert summary["size_bytes"] == entry["size_bytes"] == one(lines[2:], "file")["size_bytes"]
        assert of_type(lines, "batch")[0]["topic"] == entry["topic"]


def copied(tmp_path: Path, tier: str) -> Path:
    """The manifest of a copied segment of several batches and chunks."""
    largest = max(
        manifests(tier),
        key=lambda path: json.loads(path.read_text())["chunkIndex"]["originalFileSize"],
    )
    for path in largest.parent.glob(f"{largest.stem}.*"):
        shutil.copy(path, tmp_path)
    return tmp_path / largest.name


def test_encrypted_segment_without_its_key_is_said_and_ends_with_3(tmp_path: Path) -> None:
    path = copied(tmp_path, "32_tier_aiven_enc")
    code, lines = looked(path)
    (finding,) = of_type(lines, "finding")
    assert code is ExitCode.LOOK
    assert finding["kind"] == "no_key"
    assert finding["text"].endswith(
        "the segment is encrypted with key key1: give --tiered-key key1=FILE"
    )
    assert one(lines, "entry")["key_id"] == "key1"
    assert not of_type(lines, "batch")


def test_flipped_tag_costs_the_batches_that_touch_its_chunk(tmp_path: Path) -> None:
    path = copied(tmp_path, "32_tier_aiven_enc")
    _, sound = looked(path, _KEY)
    log = path.with_suffix(".log")
    content = bytearray(log.read_bytes())
    content[4124 * 2 - 1] ^= 1
    log.write_bytes(content)
    code, lines = looked(path, _KEY, check=True)
    lost = [
        batch["position"]
        for batch in of_type(sound, "batch")
        if batch["position"] < 8192 and batch["position"] + batch["size_bytes"] > 4096
    ]
    defects = of_type(lines, "defect")
    assert code is ExitCode.LOOK
    assert {defect["defect_code"] for defect in defects} == {"tier_chunk_bad"}
    assert "bytes 4096 to 8192: its authentication tag is wrong" in defects[0]["defect_detail"]
    valid = [batch["position"] for batch in of_type(lines, "batch") if batch["valid"]]
    everything = [batch["position"] for batch in of_type(sound, "batch")]
    assert lost
    assert valid == [position for position in everything if position not in lost]
    raw = aiven_objects.bytes_of(defects[0]["raw"])
    assert raw == bytes(content[4124 : 4124 * 2])


@pytest.mark.parametrize("tier", _TIERS)
def test_cut_object_is_damage_from_there_on(tmp_path: Path, tier: str) -> None:
    path = copied(tmp_path, tier)
    log = path.with_suffix(".log")
    log.write_bytes(log.read_bytes()[:-1])
    code, lines = looked(path, _KEY, check=True)
    assert code is ExitCode.LOOK
    assert of_type(lines, "defect")[-1]["defect_code"] == "tier_chunk_bad"
    findings = {finding["kind"]: finding["text"] for finding in of_type(lines, "finding")}
    assert "its manifest says" in findings["damaged_file"]


def test_missing_object_is_said(tmp_path: Path) -> None:
    path = copied(tmp_path, "30_tier_aiven_plain")
    path.with_suffix(".log").unlink()
    code, lines = looked(path, check=True)
    (finding,) = of_type(lines, "finding")
    assert (code, finding["kind"]) == (ExitCode.LOOK, "left_out")
    assert finding["text"].endswith(".log does not exist")


def test_manifest_of_an_unknown_version_is_damaged(tmp_path: Path) -> None:
    path = copied(tmp_path, "30_tier_aiven_plain")
    path.write_text(path.read_text().replace('"version":"1"', '"version":"2"'))
    code, lines = looked(path, check=True)
    assert code is ExitCode.LOOK
    assert one(lines, "file")["damage"] == "version '2' is unknown, expected '1'"


def test_no_output_has_a_data_key(tmp_path: Path) -> None:
    path = copied(tmp_path, "32_tier_aiven_enc")
    encryption = json.loads(path.read_text())["encryption"]
    _, lines = looked(path, _KEY)
    shown = json.dumps(lines)
    assert encryption["dataKey"].partition(":")[2] not in shown
    assert encryption["aad"] not in shown
