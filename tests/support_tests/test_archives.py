"""The archives of tests/data are the ones that are named, and unpack whole."""

import hashlib
import json
from pathlib import Path

import pytest

from support import broker_disks

_DATA = Path(broker_disks.__file__).parents[1] / "data"
_INDEX = json.loads((_DATA / "index.json").read_text(encoding="utf-8"))
_PACKED = {**_INDEX["archives"], **_INDEX["tiers"]}


def test_every_archive_is_named_in_the_index_and_no_other() -> None:
    assert sorted(path.name for path in _DATA.glob("*.tar.xz")) == sorted(_PACKED)


@pytest.mark.parametrize("name", _PACKED)
def test_archive_has_the_checksum_and_size_of_the_index_and_the_readme(name: str) -> None:
    content = (_DATA / name).read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    assert _PACKED[name] == {"sha256": sha256, "size_bytes": len(content)}
    row = f"| `{name}` | {len(content)} | `{sha256}` |"
    assert row in (_DATA / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("scenario", broker_disks.SCENARIOS)
def test_unpacked_scenario_has_disks_with_hidden_and_empty_files(scenario: str) -> None:
    for copy in broker_disks.copies(scenario):
        found = broker_disks.log_dirs(scenario, copy)
        assert found
        for log_dir in found:
            assert (log_dir.path / "meta.properties").is_file()
            assert (log_dir.path / "log-start-offset-checkpoint").is_file()
    files = [path for path in broker_disks.unpacked(scenario).rglob("*") if path.is_file()]
    assert any(path.stat().st_size == 0 for path in files)


def test_clean_shutdown_marker_survives_packing() -> None:
    assert (broker_disks.log_dir("06_transactions", "stopped") / ".kafka_cleanshutdown").is_file()


def test_missing_archive_fails() -> None:
    with pytest.raises(broker_disks.GoldenError, match="no_such_scenario"):
        broker_disks.unpacked("no_such_scenario")


def test_archive_with_another_checksum_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "07_delete_records.tar.xz").write_bytes(b"not what was packed")
    monkeypatch.setattr(broker_disks, "_ARCHIVES", tmp_path)
    monkeypatch.setattr(broker_disks, "_UNPACKED", tmp_path / "unpacked")
    with pytest.raises(broker_disks.GoldenError, match="SHA-256"):
        broker_disks.unpacked.__wrapped__("07_delete_records")


def test_every_corrupt_case_of_the_index_is_in_its_archive_and_no_other() -> None:
    folder = broker_disks.unpacked(broker_disks.CORRUPT)
    found = sorted(path.parent.name for path in folder.glob("*/manifest.json"))
    assert found == sorted(broker_disks.CORRUPT_CASES)
