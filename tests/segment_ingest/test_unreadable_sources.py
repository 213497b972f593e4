"""What of the sources cannot be listed or read is named, and nothing is guessed in its place."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from seglake.log_dirs.errors import WrongSourceError
from seglake.pipelines.lake_audit.disk_check.disk_check_report import exit_code, to_text
from seglake.pipelines.segment_query.errors import DataLossError
from seglake.pipelines.segment_query.read_plan import Requested, plan_reads
from seglake.settings.settings import Settings
from seglake.storage.errors import NotFoundError, RefusedError, StorageError, StoreSilentError
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import FileInfo
from support import lakes
from support.audits import checked
from support.made_logs import make_log_dir
from support.taken import offsets_taken

ingested = partial(lakes.ingested, makes_lake=True)
_ORDERS = ("orders", 0)
_MARKS = "replication-offset-checkpoint"
_OWN_FILES = [
    "meta.properties",
    _MARKS,
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
]
_SIDE_FILES = ["partition.metadata", "leader-epoch-checkpoint"]


def _refused(path: str) -> Exception:
    return RefusedError(action="open", path=path, reason="Permission denied")


def _failed(path: str) -> Exception:
    return StorageError(action="open", path=path, reason="503 Slow Down")


def _silent(path: str) -> Exception:
    return StoreSilentError(action="open", path=path, reason="no answer")


def _gone(path: str) -> Exception:
    return NotFoundError(action="open", path=path)


class _Faults:
    """Which places the storage does not give, and how it says so."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._errors: dict[str, Callable[[str], Exception]] = {}
        list_folder, read_bytes = LocalStorage.list_folder, LocalStorage.read_bytes

        def listed(storage: LocalStorage, path: str) -> list[FileInfo]:
            self._check(path)
            return list_folder(storage, path)

        def read(storage: LocalStorage, path: str) -> bytes:
            self._check(path)
            return read_bytes(storage, path)

        patch.setattr(LocalStorage, "list_folder", listed)
        patch.setattr(LocalStorage, "read_bytes", read)

    def add(self, path: Path, error: Callable[[str], Exception] = _refused) -> None:
        self._errors[str(path)] = error

    def mend(self) -> None:
        self._errors.clear()

    def _check(self, path: str) -> None:
        if path in self._errors:
            raise self._errors[path](path)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> _Faults:
    return _Faults(monkeypatch)


@pytest.fixture
def rescue(tmp_path: Path) -> Path:
    """A folder above the log dirs of two brokers, one of them a level deeper."""
    top = tmp_path / "rescue"
    make_log_dir(top / "broker1", {_ORDERS: [0, 10]}, broker_id=1)
    make_log_dir(top / "rack" / "broker-2", {("payments", 0): [0, 20]}, broker_id=2)
    return top


@pytest.mark.parametrize("error", [_refused, _failed])
@pytest.mark.parametrize("below", ["rack", "rack/broker-2"])
def test_a_folder_above_log_dirs_that_cannot_be_listed_is_left_out_and_named(
    below: str,
    error: Callable[[str], Exception],
    rescue: Path,
    lake: Path,
    faults: _Faults,
) -> None:
    closed = rescue / below
    faults.add(closed, error)
    summary = ingested(rescue, lake)
    assert (summary.records, summary.exit_code) == (10, 3)
    assert summary.left_out == {str(closed): str(error(str(closed)))}
    assert f"left out: cannot open {closed}" in summary.to_text()
    faults.mend()
    assert (ingested(rescue, lake).records, ingested(rescue, lake).exit_code) == (20, 0)


def test_it_is_left_out_also_where_topics_are_selected(
    rescue: Path, lake: Path, faults: _Faults
) -> None:
    faults.add(rescue / "rack" / "broker-2")
    assert ingested(rescue, lake, select={"topics": ["orders"]}).exit_code == 3


def test_it_is_named_once_whatever_links_lead_to_it(
    rescue: Path, lake: Path, faults: _Faults
) -> None:
    (rescue / "link").symlink_to(rescue / "rack")
    for way in ("link", "rack"):
        faults.add(rescue / way / "broker-2")
    assert list(ingested(rescue, lake).left_out) == [str(rescue / "rack" / "broker-2")]


def test_a_run_that_left_out_what_there_was_does_not_say_that_nothing_is_new(
    rescue: Path, lake: Path, faults: _Faults
) -> None:
    ingested(rescue / "broker1", lake)
    faults.add(rescue / "rack")
    assert ingested(rescue, lake).to_text().startswith("nothing ingested in 1 partition of ")


def test_an_audit_says_what_it_could_not_compare(rescue: Path, lake: Path, faults: _Faults) -> None:
    ingested(rescue, lake)
    assert exit_code(checked(rescue, lake)) == 0
    faults.add(rescue / "rack")
    checks = checked(rescue, lake)
    assert exit_code(checks) == 3
    assert f"PROBLEM  not compared: cannot open {rescue / 'rack'}" in to_text(checks)


def test_a_query_ends_where_a_folder_may_hold_what_it_asks_for(
    rescue: Path, faults: _Faults
) -> None:
    faults.add(rescue / "rack" / "broker-2")
    wanted = Requested().with_topics(["orders"])
    with pytest.raises(DataLossError, match=r"cannot open .*broker-2"):
        plan_reads([str(rescue)], LocalStorage(), Settings(), wanted, fails_on_loss=True)
    assert plan_reads([str(rescue)], LocalStorage(), Settings(), wanted, fails_on_loss=False)


def test_where_no_log_dir_is_found_the_folder_that_is_closed_is_named(
    rescue: Path, lake: Path, faults: _Faults
) -> None:
    source = rescue / "rack"
    faults.add(source / "broker-2")
    with pytest.raises(WrongSourceError, match=r"refused: cannot open .*broker-2: Permission"):
        ingested(source, lake)
    faults.add(source / "broker-2", _failed)
    with pytest.raises(StorageError, match="503"):
        ingested(source, lake)
    assert not lake.exists()


def test_a_store_that_is_silent_ends_the_run(rescue: Path, lake: Path, faults: _Faults) -> None:
    faults.add(rescue / "rack", _silent)
    with pytest.raises(StoreSilentError):
        ingested(rescue, lake)
    faults.mend()
    faults.add(rescue / "broker1" / _MARKS, _silent)
    with pytest.raises(StoreSilentError):
        ingested(rescue, lake)


def test_a_folder_that_went_meanwhile_is_no_fault(
    rescue: Path, lake: Path, faults: _Faults
) -> None:
    faults.add(rescue / "rack", _gone)
    summary = ingested(rescue, lake)
    assert (summary.records, summary.exit_code) == (10, 0)


def test_what_the_file_system_keeps_for_itself_is_no_fault(
    rescue: Path, lake: Path, faults: _Faults
) -> None:
    (rescue / "lost+found").mkdir()
    faults.add(rescue / "lost+found")
    assert ingested(rescue, lake).exit_code == 0


@pytest.mark.parametrize("name", _OWN_FILES)
def test_a_log_dir_with_a_file_of_its_own_that_cannot_be_read_is_left_out(
    name: str, rescue: Path, lake: Path, faults: _Faults
) -> None:
    file = rescue / "broker1" / name
    file.touch()
    faults.add(file, _failed)
    summary = ingested(rescue, lake)
    assert (summary.topics, summary.exit_code) == (["payments"], 3)
    assert summary.left_out == {str(file.parent): f"cannot open {file}: 503 Slow Down"}
    assert not summary.notes


@pytest.mark.parametrize("name", _OWN_FILES)
def test_if_it_is_the_only_one_it_is_left_out_unless_another_time_may_do_better(
    name: str, rescue: Path, lake: Path, faults: _Faults
) -> None:
    source = rescue / "broker1"
    (source / name).touch()
    faults.add(source / name, _failed)
    with pytest.raises(StorageError, match="503"):
        ingested(source, lake)
    assert not lake.exists()
    faults.add(source / name)
    given = {"source_id": "mine"} if name == "meta.properties" else {}
    summary = ingested(source, lake, source=given)
    assert (summary.exit_code, list(summary.left_out)) == (3, [str(source)])
    assert f"cannot open {source / name}" in summary.to_text()


def test_no_id_is_asked_for_where_a_file_that_cannot_be_read_may_name_it(
    rescue: Path, lake: Path, faults: _Faults
) -> None:
    make_log_dir(rescue / "broker1", {_ORDERS: [0, 10]}, cluster_id=None)
    faults.add(rescue / "rack" / "broker-2" / "meta.properties")
    with pytest.raises(WrongSourceError, match=r"cannot open .*meta\.properties"):
        ingested(rescue, lake)


def test_above_the_high_watermark_nothing_is_taken_for_want_of_the_file(
    tmp_path: Path, lake: Path, faults: _Faults
) -> None:
    top = tmp_path / "rescue"
    make_log_dir(top / "a", {_ORDERS: [0, 20]}, high_watermarks={_ORDERS: 15})
    make_log_dir(top / "b", {("payments", 0): [0, 10]})
    faults.add(top / "a" / _MARKS, _failed)
    assert ingested(top, lake).exit_code == 3
    assert not offsets_taken(lake)
    faults.mend()
    ingested(top / "a", lake)
    assert offsets_taken(lake) == list(range(15))


@pytest.mark.parametrize("name", _SIDE_FILES)
def test_a_partition_with_a_side_file_that_cannot_be_read_is_left_out(
    name: str, rescue: Path, lake: Path, faults: _Faults
) -> None:
    file = rescue / "broker1" / "orders-0" / name
    file.touch()
    faults.add(file)
    summary = ingested(rescue, lake)
    assert (summary.topics, summary.exit_code) == (["payments"], 3)
    assert list(summary.left_out) == ["orders-0"]
    assert str(file) in summary.left_out["orders-0"]


@pytest.mark.parametrize("name", [_MARKS, "orders-0/partition.metadata"])
def test_a_file_that_went_meanwhile_is_missing(
    name: str, rescue: Path, lake: Path, faults: _Faults
) -> None:
    file = rescue / "broker1" / name
    faults.add(file, _gone)
    summary = ingested(rescue / "broker1", lake)
    assert (summary.records, summary.exit_code) == (10, 0)
    assert summary.notes[0] == f"{_gone(str(file))}; the file counts as missing"
    to_the_end = f"has no usable {_MARKS}: logs are ingested to their end"
    assert [to_the_end in note for note in summary.notes[1:]] == [True] * (name == _MARKS)
