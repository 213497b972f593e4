"""What is planned for a query, and what ends one before anything is read."""

from pathlib import Path

import pytest

from seglake.pipelines.segment_query.errors import DataLossError
from seglake.pipelines.segment_query.read_plan import Requested, plan_reads
from seglake.settings.settings import Settings
from seglake.settings.topic_selection import NothingSelectedError
from seglake.storage.errors import NotFoundError, StorageError
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import FileInfo, Reader
from support.broker_disks import unpacked
from support.made_logs import make_log_dir

_SAMPLES = Path(__file__).parents[2] / "samples" / "broker-0"


class _Closed(LocalStorage):
    """One folder cannot be listed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def list_folder(self, path: str) -> list[FileInfo]:
        if path.endswith(f"/{self._name}"):
            raise StorageError(action="list", path=path, reason="Permission denied")
        return super().list_folder(path)


class _Gone(LocalStorage):
    """One file is listed, and is gone when it is to be read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def open_reader(self, path: str) -> Reader:
        if path.endswith(f"/{self._name}"):
            raise NotFoundError(action="open", path=path)
        return super().open_reader(path)


def test_only_topics_and_partitions_that_are_asked_for_are_planned() -> None:
    settings = Settings.from_mappings([])
    wanted = Requested().with_topics(["v0-gzip", "tx-a"]).with_partitions([1, 7])
    tasks = plan_reads([str(_SAMPLES)], LocalStorage(), settings, wanted, fails_on_loss=True)
    planned = {str(split.key) for task in tasks for split in task.splits}
    assert planned == {"v0-gzip-1", "tx-a-1"}


def test_topics_that_are_not_there_are_no_empty_answer() -> None:
    settings = Settings.from_mappings([("test", {"select": {"topics": ["v2-zst"]}})])
    with pytest.raises(NothingSelectedError, match=r"v2-zst \(did you mean v2-zstd\?\)"):
        plan_reads([str(_SAMPLES)], LocalStorage(), settings, Requested(), fails_on_loss=False)


def test_offsets_that_are_not_asked_for_are_not_read(tmp_path: Path) -> None:
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 50, 100, 150, 200]})
    settings = Settings.from_mappings([])
    wanted = Requested().with_offsets(60, 61)
    (task,) = plan_reads([str(data)], LocalStorage(), settings, wanted, fails_on_loss=True)
    names = [piece.file.name for split in task.splits for piece in split.segment_splits]
    assert names == ["orders-0/00000000000000000050.log"]


def test_a_folder_that_cannot_be_read_ends_the_queries_that_ask_for_it(tmp_path: Path) -> None:
    edges = {("orders", 0): [0, 10], ("payments", 0): [0, 10]}
    data = make_log_dir(tmp_path / "data", edges)
    storage = _Closed("payments-0")
    settings, wanted = Settings.from_mappings([]), Requested().with_topics(["orders"])
    assert plan_reads([str(data)], storage, settings, wanted, fails_on_loss=True)
    with pytest.raises(DataLossError, match=r"cannot list .*payments-0"):
        plan_reads([str(data)], storage, settings, Requested(), fails_on_loss=True)


def test_offsets_that_only_a_remote_tier_has_end_the_queries_that_ask_for_them() -> None:
    data = unpacked("33_tier_local") / "data"
    settings = Settings.from_mappings([("test", {"select": {"topics": ["plain"]}})])
    above = Requested().with_offsets(700, None)
    assert plan_reads([str(data)], LocalStorage(), settings, above, fails_on_loss=True)
    with pytest.raises(
        DataLossError, match="only in a remote tier: give the tier as one more source"
    ):
        plan_reads([str(data)], LocalStorage(), settings, Requested(), fails_on_loss=True)
    both = [str(data), str(data.parent / "remote")]
    assert plan_reads(both, LocalStorage(), settings, Requested(), fails_on_loss=True)


@pytest.mark.parametrize("bases", [(0,), (20,), (40,), (0, 20, 40)])
def test_a_compressed_segment_ends_the_queries_that_ask_for_its_offsets(
    bases: tuple[int, ...], tmp_path: Path
) -> None:
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 20, 40, 60]})
    for base in bases:
        log = data / "orders-0" / f"{base:020d}.log"
        log.rename(log.with_name(f"{log.name}.gz"))
    storage, settings = LocalStorage(), Settings.from_mappings([])
    with pytest.raises(DataLossError, match=rf"{len(bases)} compressed .*: decompress in place"):
        plan_reads([str(data)], storage, settings, Requested(), fails_on_loss=True)
    for start in {0, 20, 40} - {*bases}:
        wanted = Requested().with_offsets(start, start + 20)
        assert plan_reads([str(data)], storage, settings, wanted, fails_on_loss=True)


def test_a_last_segment_that_goes_before_it_is_read_ends_the_query(tmp_path: Path) -> None:
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 50, 100]})
    storage, settings = _Gone(f"{50:020}.log"), Settings.from_mappings([])
    with pytest.raises(DataLossError, match=r"orders-0: cannot open .*50\.log: no such file"):
        plan_reads([str(data)], storage, settings, Requested(), fails_on_loss=True)
    assert plan_reads([str(data)], storage, settings, Requested(), fails_on_loss=False)
