"""The digest of a ledger: as good as the ledger, whatever becomes of either, and read once."""

import gzip
import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.lake.delta_tables import LOG_FOLDER, LakeTables
from seglake.lake.table_creation import create_missing
from seglake.lake.tables import CHECKPOINTS, Table
from seglake.log_tables import ledger_digest
from seglake.log_tables.ledger_digest import LedgerDigest
from seglake.log_tables.source_ledger import SourceLedger
from seglake.storage.local_storage import LocalStorage
from support.encoder import DEFAULT_CLUSTER_ID
from support.lakes import ingested, maintained
from support.made_logs import make_log_dir

_EACH = 10  # offsets that a run brings to a topic
_TOPICS = ("orders", "payments")


class _CountingStorage(LocalStorage):
    """Notes which files it reads, but for the entry that each opening looks at."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def read_bytes(self, path: str) -> bytes:
        if LOG_FOLDER not in path:
            self.read.append(path)
        return super().read_bytes(path)


def _run(folder: Path, runs: int) -> None:
    edges = {(topic, 0): [*range(0, _EACH * runs + 1, _EACH)] for topic in _TOPICS}
    assert ingested(make_log_dir(folder / "disk", edges), folder / "lake").exit_code == 0


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake that seven runs have filled, the last of which was given a digest to be stored."""
    folder = tmp_path_factory.mktemp("grown")
    for runs in range(1, 8):
        _run(folder, runs)
    return folder


@pytest.fixture
def folder(grown: Path, tmp_path: Path) -> Path:
    shutil.copytree(grown, tmp_path, dirs_exist_ok=True)
    return tmp_path


def _read(folder: Path) -> tuple[LedgerDigest, list[str]]:
    """A digest that a new process has read, and the files that it read for that."""
    storage = _CountingStorage()
    digest = LedgerDigest(LakeTables(str(folder / "lake"), storage))
    digest.read()
    return digest, storage.read


def _ranges(digest: LedgerDigest) -> dict[str, list[tuple[int, int]]]:
    ledger = SourceLedger(digest.rows(DEFAULT_CLUSTER_ID))
    return {key.topic: [*ledger.of(key).covered] for key in ledger.partitions()}


def _whole(runs: int) -> dict[str, list[tuple[int, int]]]:
    return {topic: [(0, _EACH * runs)] for topic in _TOPICS}


def _stored(folder: Path) -> Path:
    """Where a digest was stored of all that the ledger has."""
    digest, _ = _read(folder)
    digest.store(if_due=False)
    return Path(digest.path)


def test_only_files_that_are_new_are_read(folder: Path) -> None:
    digest, read = _read(folder)
    assert len(read) == 1 + 2 * 7  # it looks for a digest first
    digest.store(if_due=False)
    digest, read = _read(folder)
    assert (read, _ranges(digest)) == ([digest.path], _whole(7))
    _run(folder, 8)
    digest, read = _read(folder)
    assert len(read) == 1 + 2
    assert _ranges(digest) == _whole(8)
    assert len(digest.rows(DEFAULT_CLUSTER_ID)) == 2 * 4


def test_young_lake_is_not_asked_for_one(tmp_path: Path) -> None:
    tables = LakeTables(str(tmp_path / "lake"), LocalStorage())
    create_missing(tables)
    digest, read = _read(tmp_path)
    assert (read, digest.rows(DEFAULT_CLUSTER_ID)) == ([], [])


def test_a_run_stores_it_when_it_is_due_and_a_dry_run_never(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest, _ = _read(folder)
    monkeypatch.setattr(ledger_digest, "_DUE_AFTER_COMMITS", 1000)
    _run(folder, 8)
    assert not Path(digest.path).exists()
    monkeypatch.setattr(ledger_digest, "_DUE_AFTER_FILES", 2 * 8)
    ingested(folder / "disk", folder / "lake", dry_run=True)
    assert not Path(digest.path).exists()
    _run(folder, 9)
    assert _read(folder)[1] == [digest.path]
    before = Path(digest.path).read_bytes()
    _run(folder, 10)
    _run(folder, 11)
    assert Path(digest.path).read_bytes() == before
    monkeypatch.setattr(ledger_digest, "_DUE_AFTER_COMMITS", 3)
    _run(folder, 12)
    assert _read(folder)[1] == [digest.path]


def test_what_is_committed_while_the_whole_ledger_is_read_is_read_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = LakeTables.newest

    def overtaken(self: LakeTables, table: Table) -> DeltaTable:
        monkeypatch.undo()
        handle = looked(self, table)
        _run(folder, 8)
        return handle

    monkeypatch.setattr(LakeTables, "newest", overtaken)
    digest, _ = _read(folder)
    again, _ = _read(folder)
    assert digest.rows(DEFAULT_CLUSTER_ID) == again.rows(DEFAULT_CLUSTER_ID)
    assert _ranges(digest) == _whole(8)


def test_a_run_after_it_ingests_what_is_new_and_nothing_twice(folder: Path) -> None:
    _stored(folder)
    _run(folder, 9)
    rows = LakeTables(str(folder / "lake"), LocalStorage()).rows(
        CHECKPOINTS, DEFAULT_CLUSTER_ID, ["topic", "start_offset", "next_offset"]
    )
    assert sorted(row["start_offset"] for row in rows.to_pylist()) == sorted(
        [*range(0, 80, _EACH)] * 2
    )


@pytest.mark.parametrize("left", ["empty", "cut", "zeros", "other JSON", "another file", "folder"])
def test_damaged_one_is_as_none(folder: Path, left: str) -> None:
    stored = _stored(folder)
    content = stored.read_bytes()
    stored.unlink()
    if left == "folder":
        stored.mkdir()
    elif left == "another file":
        [any_file, *_] = (folder / "lake" / "checkpoints").glob("*.parquet")
        shutil.copy(any_file, stored)
    else:
        damaged = {
            "empty": b"",
            "cut": content[:-9],
            "zeros": bytes(len(content)),
            "other JSON": gzip.compress(b"{}"),
        }
        stored.write_bytes(damaged[left])
    digest, read = _read(folder)
    assert _ranges(digest) == _whole(7)
    assert len(read) == 1 + 2 * 7
    digest.store(if_due=False)
    assert stored.is_dir() or stored.read_bytes() == content


def test_no_flipped_bit_changes_what_is_known(folder: Path) -> None:
    stored = _stored(folder)
    rows = _read(folder)[0].rows(DEFAULT_CLUSTER_ID)
    content = stored.read_bytes()
    for position in range(0, len(content), len(content) // 40):
        flipped = content[position] ^ 1 << position % 8
        stored.write_bytes(content[:position] + bytes([flipped]) + content[position + 1 :])
        assert _read(folder)[0].rows(DEFAULT_CLUSTER_ID) == rows


def test_digest_of_files_that_are_gone_is_not_believed(folder: Path) -> None:
    older = folder / "older"
    shutil.copytree(folder / "lake", older)
    _run(folder, 8)
    stored = _stored(folder)
    shutil.copy(stored, older / "records" / "_seglake" / stored.name)
    shutil.rmtree(folder / "lake")
    older.rename(folder / "lake")  # as restored from a backup, but for the digest
    assert _ranges(_read(folder)[0]) == _whole(7)


def test_lake_made_anew_beside_a_digest_that_was_read_has_no_rows(folder: Path) -> None:
    digest, _ = _read(folder)
    tables = digest._tables
    shutil.rmtree(folder / "lake")
    create_missing(tables)
    assert digest.rows(DEFAULT_CLUSTER_ID) == []
    for runs in range(1, 8):  # to the same version, by another driver
        edges = {("others", 0): [*range(0, _EACH * runs + 1, _EACH)]}
        assert ingested(make_log_dir(folder / "disk2", edges), folder / "lake").exit_code == 0
    tables.forget_handles()
    assert _ranges(digest) == {"others": [(0, 7 * _EACH)]}


def test_digest_that_was_not_believed_is_written_anew(folder: Path) -> None:
    older = folder / "older"
    shutil.copytree(folder / "lake", older)
    _run(folder, 8)
    stored = _stored(folder)
    kept = older / "records" / "_seglake" / stored.name
    shutil.copy(stored, kept)
    shutil.rmtree(folder / "lake")
    older.rename(folder / "lake")
    digest, _ = _read(folder)
    before = stored.read_bytes()
    digest.store(if_due=True)  # after all but eight commits since none
    _run(folder, 8)
    assert stored.read_bytes() != before
    assert _ranges(_read(folder)[0]) == _whole(8)


def test_maintenance_leaves_one_of_the_files_that_it_made(folder: Path) -> None:
    other, _ = _read(folder)
    maintained(folder / "lake")
    digest, read = _read(folder)
    assert (read, _ranges(digest)) == ([digest.path], _whole(7))
    # A run at work whose files are gone: no row is there twice.
    own, others = (each.rows(DEFAULT_CLUSTER_ID) for each in (digest, other))
    assert (_ranges(other), len(others)) == (_whole(7), len(own))
