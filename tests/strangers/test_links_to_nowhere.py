"""Links that lead nowhere, as on a disk that lost a volume, and other entries without content."""

import os
import shutil
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.log_dirs.errors import WrongSourceError
from seglake.storage.errors import RefusedError, StorageError
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import FileInfo, Reader
from seglake.task_engine.engine import Engine
from support.audits import checked
from support.found import unread_files
from support.lakes import ingested
from support.made_logs import make_log_dir
from support.printed import cat
from support.taken import gaps_taken, is_nothing_new, offsets_taken

_ORDERS, _PAYMENTS = ("orders", 0), ("payments", 0)
_LAST = f"{20:020}"


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """One broker's log dir below a source: orders of three segments, payments of one."""
    edges = {_ORDERS: [0, 10, 20, 30], _PAYMENTS: [0, 10]}
    return make_log_dir(tmp_path / "rescue" / "broker0", edges)


def _lost(path: Path) -> str:
    """Make a file or folder one of a volume that is not mounted."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(Path("/mnt/vol2") / path.name)
    return str(path)


@pytest.mark.parametrize(
    "name",
    [
        f"orders-0/{10:020}.log.swap",
        "orders-0/leader-epoch-checkpoint",
        "orders-0/partition.metadata",
        "orders-0",
    ],
)
def test_a_partition_whose_files_are_on_a_lost_volume_is_left_out_and_named(
    name: str, log_dir: Path, lake: Path, engine: Engine
) -> None:
    lost = _lost(log_dir / name)
    summary = ingested(log_dir.parent, lake, engine=engine)
    assert (summary.exit_code, list(summary.left_out)) == (3, ["orders-0"])
    assert " from 1 of 2 partitions of " in summary.to_text()
    assert f"{lost}: it is a link to /mnt/vol2/" in summary.to_text()
    assert (offsets_taken(lake), offsets_taken(lake, "payments")) == ([], [*range(10)])


@pytest.mark.parametrize(
    ("lost", "ranges"),
    [
        ([0], [(0, 10)]),
        ([10], [(10, 20)]),
        ([20], [(20, 30)]),
        ([0, 20], [(0, 10), (20, 30)]),
        ([0, 10, 20], [(0, 30)]),
    ],
)
def test_a_lost_segment_costs_only_its_offsets_until_it_is_back(
    lost: list[int], ranges: list[tuple[int, int]], log_dir: Path, lake: Path, engine: Engine
) -> None:
    paths = [log_dir / "orders-0" / f"{base:020}.log" for base in lost]
    content = {path: path.read_bytes() for path in paths}
    for path in paths:
        _lost(path)
    found = [n for n in range(30) if not any(start <= n < stop for start, stop in ranges)]
    for _ in range(2):
        summary = ingested(log_dir, lake, engine=engine)
        assert (summary.exit_code, offsets_taken(lake), gaps_taken(lake)) == (3, found, [])
        assert summary.findings.of(FindingKind.NOT_ON_DISK) == []
        (files,) = unread_files(summary)
        assert (files.facts["files_kind"], list(files.ranges)) == ("unreadable_segment", ranges)
        count = "1 segment" if len(lost) == 1 else f"{len(lost)} segments"
        shown = ", ".join(f"[{start}, {stop})" for start, stop in ranges)
        said = summary.left_out["orders-0"]
        assert said.startswith(f"orders-0: {shown} in {count} ({paths[0].name}")
        assert said.endswith(f"it is a link to /mnt/vol2/{paths[0].name}, which does not exist")
    for path in paths:
        path.unlink()
        path.write_bytes(content[path])
    assert ingested(log_dir, lake, engine=engine).exit_code == 0
    assert (offsets_taken(lake), gaps_taken(lake)) == ([*range(30)], [])
    assert is_nothing_new(ingested(log_dir, lake, engine=engine))


def test_a_log_without_a_segment_that_leads_to_a_file_is_named(log_dir: Path, lake: Path) -> None:
    for proof in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (log_dir / proof).unlink()
    for path in (log_dir / "orders-0").iterdir():
        if path.suffix == ".log":
            _lost(path)
        else:
            path.unlink()
    summary = ingested(log_dir, lake)
    assert (summary.exit_code, offsets_taken(lake)) == (3, [])
    assert summary.left_out["orders-0"].startswith("orders-0: [0, …) in 3 segments")


def test_a_lost_segment_and_a_compressed_one_are_named_together(log_dir: Path, lake: Path) -> None:
    _lost(log_dir / "orders-0" / f"{10:020}.log")
    packed = log_dir / "orders-0" / f"{_LAST}.log"
    packed.rename(f"{packed}.gz")
    said = ingested(log_dir, lake).left_out["orders-0"]
    assert said.startswith("orders-0: [10, 30) in 2 segments")
    assert said.endswith("which does not exist; decompress in place and run again for the others")


def test_the_same_segment_lost_on_two_disks_waits_for_either(
    log_dir: Path, lake: Path, tmp_path: Path
) -> None:
    other = make_log_dir(tmp_path / "other", {_ORDERS: [0, 10, 20, 30]}, broker_id=1)
    back = (other / "orders-0" / f"{10:020}.log").read_bytes()
    for disk in (log_dir, other):
        _lost(disk / "orders-0" / f"{10:020}.log")
    summary = ingested([log_dir, other], lake)
    assert (summary.exit_code, len(summary.left_out), gaps_taken(lake)) == (3, 2, [])
    (other / "orders-0" / f"{10:020}.log").unlink()
    (other / "orders-0" / f"{10:020}.log").write_bytes(back)
    summary = ingested([log_dir, other], lake)
    assert (summary.exit_code, list(summary.left_out)) == (3, ["orders-0"])
    assert offsets_taken(lake) == [*range(30)]


@pytest.mark.parametrize("kind", ["index", "timeindex", "txnindex", "snapshot"])
def test_a_log_is_read_without_a_file_beside_it_that_is_lost(
    kind: str, log_dir: Path, lake: Path, engine: Engine
) -> None:
    lost = _lost(log_dir / "orders-0" / f"{_LAST}.{kind}")
    summary = ingested(log_dir, lake, engine=engine)
    assert (summary.exit_code, list(summary.left_out)) == (3, [lost])
    assert f"left out: {lost}: it is a link to /mnt/vol2/" in summary.to_text()
    assert offsets_taken(lake) == [*range(30)]


@pytest.mark.parametrize("name", ["kafka-logs-2", "broker0/kafka-logs", "broker0/orders-0.bak"])
def test_a_link_that_may_have_been_a_log_dir_is_named(
    name: str, log_dir: Path, lake: Path, engine: Engine
) -> None:
    lost = _lost(log_dir.parent / name)
    summary = ingested(log_dir.parent, lake, engine=engine)
    assert (summary.exit_code, list(summary.left_out)) == (3, [lost])
    assert offsets_taken(lake) == [*range(30)]


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_the_only_log_dir_without_its_checkpoint_is_left_out_if_its_cluster_is_known(
    kind: str, log_dir: Path, lake: Path, engine: Engine
) -> None:
    lost = Path(_lost(log_dir / "replication-offset-checkpoint"))
    if kind == "folder":
        lost.unlink()
        lost.mkdir()
    summary = ingested(log_dir, lake, engine=engine)
    assert (summary.exit_code, list(summary.left_out)) == (3, [str(log_dir)])
    assert summary.to_text().startswith("nothing ingested in 0 partitions")
    assert f"left out: cannot open {lost}: it is a {kind}" in summary.to_text()


def test_the_only_log_dir_without_its_cluster_is_refused_unless_it_is_given(
    log_dir: Path, lake: Path
) -> None:
    _lost(log_dir / "meta.properties")
    with pytest.raises(WrongSourceError, match=r"meta.properties: it is a link"):
        ingested(log_dir, lake)
    summary = ingested(log_dir, lake, source={"source_id": "rescued"})
    assert (summary.exit_code, list(summary.left_out)) == (3, [str(log_dir)])


@pytest.mark.parametrize("name", ["meta.properties", "cleaner-offset-checkpoint"])
def test_a_log_dir_without_its_own_files_is_left_out_beside_others(
    name: str, log_dir: Path, lake: Path, tmp_path: Path
) -> None:
    other = make_log_dir(tmp_path / "rescue" / "broker1", {("users", 0): [0, 5]}, broker_id=1)
    lost = _lost(log_dir / name)
    summary = ingested(other.parent, lake)
    assert (summary.exit_code, list(summary.left_out)) == (3, [str(log_dir)])
    assert lost in summary.to_text()
    assert (offsets_taken(lake), offsets_taken(lake, "users")) == ([], [*range(5)])


def test_a_link_in_a_circle_is_named_and_a_link_to_a_folder_above_ends_the_search(
    log_dir: Path, lake: Path
) -> None:
    circle = log_dir.parent / "circle"
    circle.symlink_to(circle)
    (log_dir.parent / "above").symlink_to(log_dir.parent)
    summary = ingested(log_dir.parent, lake)
    assert (summary.exit_code, list(summary.left_out)) == (3, [str(circle)])
    assert "Too many levels of symbolic links" in summary.to_text()


def test_a_link_through_a_file_and_a_pipe_are_named(log_dir: Path, lake: Path) -> None:
    (log_dir / "orders-0" / f"{30:020}.log").symlink_to(log_dir / "meta.properties" / "x")
    os.mkfifo(log_dir / "payments-0" / f"{10:020}.log")
    summary = ingested(log_dir, lake)
    assert (summary.exit_code, list(summary.left_out)) == (3, ["orders-0", "payments-0"])
    assert "Not a directory" in summary.left_out["orders-0"]
    assert "neither a file nor a folder" in summary.left_out["payments-0"]


def test_a_link_that_is_none_of_kafka_s_business_is_a_note(log_dir: Path, lake: Path) -> None:
    _lost(log_dir / "orders-0" / "README")
    summary = ingested(log_dir, lake)
    assert summary.exit_code == 0
    assert any("not Kafka's: README" in note for note in summary.notes)
    for litter in (".lock", ".kafka_cleanshutdown", "bootstrap.checkpoint"):
        _lost(log_dir / litter)
    assert ingested(log_dir, lake).exit_code == 0


def test_links_that_work_are_followed(log_dir: Path, lake: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk2"
    disk.mkdir()
    for path in (log_dir / "orders-0" / f"{_LAST}.log", log_dir / "payments-0"):
        path.rename(disk / path.name)
        path.symlink_to(disk / path.name)
    link = tmp_path / "link"
    link.symlink_to(log_dir)
    summary = ingested(link, lake)
    assert (summary.exit_code, summary.left_out, summary.records) == (0, {}, 40)


def test_another_replica_stands_in_for_one_on_a_lost_volume(
    log_dir: Path, lake: Path, tmp_path: Path
) -> None:
    _lost(log_dir / "orders-0" / f"{10:020}.log")
    other = make_log_dir(tmp_path / "other", {_ORDERS: [0, 10, 20, 30]}, broker_id=1)
    summary = ingested([log_dir, other], lake)
    assert (summary.exit_code, list(summary.left_out)) == (3, ["orders-0"])
    assert offsets_taken(lake) == [*range(30)]


def test_one_source_of_several_that_cannot_be_read_is_named(
    log_dir: Path, lake: Path, tmp_path: Path, engine: Engine
) -> None:
    lost = _lost(tmp_path / "lost")
    summary = ingested([Path(lost), log_dir], lake, engine=engine)
    assert (summary.exit_code, list(summary.left_out), summary.records) == (3, [lost], 40)
    with pytest.raises(WrongSourceError, match=f"cannot open {lost}: it is a link to"):
        ingested(Path(lost), lake)
    with pytest.raises(WrongSourceError, match="does not exist"):
        ingested([tmp_path / "nowhere", log_dir], lake)


def test_the_audit_and_cat_name_what_they_cannot_read(log_dir: Path, lake: Path) -> None:
    ingested(log_dir, lake)
    lost = _lost(log_dir / "orders-0" / f"{_LAST}.log")
    (failed,) = [check for check in checked(log_dir, lake) if check.failures]
    name = Path(lost).name
    assert (failed.partition, failed.failures) == (
        "orders-0",
        [f"1 segment ({name}): it is a link to /mnt/vol2/{name}, which does not exist"],
    )
    printed = cat("--source", log_dir, "--topics", "orders")
    said = f"1 segment ({name}) in {log_dir}/orders-0: it is a link"
    assert (printed.code, said in printed.err, printed.out.count(b"\n")) == (3, True, 20)


@pytest.mark.parametrize("kind", ["txnindex", "snapshot"])
def test_a_file_beside_a_segment_that_may_not_be_read_is_named(
    kind: str, log_dir: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = log_dir / "orders-0" / f"{_LAST}.{kind}"
    closed.write_bytes(b"content that nobody sees")
    really_open = LocalStorage.open_reader

    def open_reader(storage: LocalStorage, path: str) -> Reader:
        if path == str(closed):
            raise RefusedError(action="open", path=path, reason="Permission denied")
        return really_open(storage, path)

    monkeypatch.setattr(LocalStorage, "open_reader", open_reader)
    summary = ingested(log_dir, lake)
    assert (summary.exit_code, offsets_taken(lake)) == (3, [*range(30)])
    assert f"left out: cannot open {closed}: Permission denied" in summary.to_text()


@pytest.mark.parametrize("kind", [RefusedError, StorageError])
def test_a_source_that_refuses_or_fails_is_left_out_beside_others(
    kind: type[StorageError],
    log_dir: Path,
    lake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sick = make_log_dir(tmp_path / "sick", {("users", 0): [0, 5]}, broker_id=1)
    really_list = LocalStorage.list_folder

    def list_folder(storage: LocalStorage, path: str) -> list[FileInfo]:
        if path == str(sick):
            raise kind(action="list", path=path, reason="Input/output error")
        return really_list(storage, path)

    monkeypatch.setattr(LocalStorage, "list_folder", list_folder)
    summary = ingested([sick, log_dir], lake)
    assert (summary.exit_code, list(summary.left_out), summary.records) == (3, [str(sick)], 40)
    with pytest.raises(WrongSourceError if kind is RefusedError else StorageError):
        ingested(sick, lake)


@pytest.mark.parametrize(
    ("name", "left_out", "records"),
    [
        (f"orders-0/{_LAST}.log", "orders-0", 30),
        (f"orders-0/{30:020}.log", "orders-0", 40),
        ("orders-0/leader-epoch-checkpoint", "orders-0", 10),
        (f"orders-0/{_LAST}.index", f"{_LAST}.index", 40),
    ],
)
def test_a_folder_in_the_place_of_a_file_is_named(
    name: str, left_out: str, records: int, log_dir: Path, lake: Path
) -> None:
    (log_dir / name).unlink(missing_ok=True)
    (log_dir / name).mkdir()
    summary = ingested(log_dir, lake)
    (place,) = summary.left_out
    assert (summary.exit_code, summary.records) == (3, records)
    assert (place.endswith(left_out), "it is a folder" in summary.to_text()) == (True, True)


def test_a_folder_in_the_place_of_a_log_dir_s_own_file_is_refused(
    log_dir: Path, lake: Path
) -> None:
    (log_dir / "meta.properties").unlink()
    (log_dir / "meta.properties").mkdir()
    with pytest.raises(WrongSourceError, match=r"meta.properties: it is a folder"):
        ingested(log_dir, lake)
