"""How the folders of the sources are found: each once, whatever leads to it and moves meanwhile."""

from collections import Counter
from pathlib import Path

import pytest

from seglake.log_dirs.discovery import discover
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import FileInfo, Reader
from support.encoder import EncodedBatch
from support.faults import bad_crc
from support.lakes import ingested
from support.made_logs import made_batches, make_log_dir
from support.taken import offsets_taken

_EDGES = {("orders", 0): [0, 10, 20, 30], ("payments", 0): [0, 10]}


def _swap(data: Path, batches: list[EncodedBatch]) -> Path:
    """A cleaner's finished output, not renamed yet."""
    path = data / "orders-0" / f"{0:020d}.log.swap"
    path.write_bytes(b"".join(batch.data for batch in batches))
    return path


@pytest.mark.parametrize("way", ["beside", "below"])
def test_a_log_dir_that_a_link_leads_to_again_is_read_once_and_named(
    way: str, data: Path, lake: Path
) -> None:
    make_log_dir(data / "disk", _EDGES)
    (data / "link").symlink_to(data / "disk")
    sources = [data / "disk", data / "link"] if way == "beside" else [data]
    summary = ingested(sources, lake)
    assert (summary.records, summary.partitions) == (40, 2)
    note = f"{data / 'link'} is the same folder as {data / 'disk'}: the folder is read once"
    assert summary.notes == [note]


def test_a_link_to_a_partition_folder_has_the_checkpoints_beside_the_folder(
    data: Path, lake: Path
) -> None:
    make_log_dir(data / "disk", _EDGES, high_watermarks={("orders", 0): 15})
    (data / "mine").symlink_to(data / "disk" / "orders-0")
    ingested(data / "mine", lake)
    assert offsets_taken(lake) == list(range(15))


def test_the_folder_above_many_partitions_is_listed_once(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_log_dir(data, {("orders", number): [0, 5] for number in range(9)})
    listed: Counter[str] = Counter()
    original = LocalStorage.list_folder

    def counted(self: LocalStorage, path: str) -> list[FileInfo]:
        listed[path] += 1
        return original(self, path)

    monkeypatch.setattr(LocalStorage, "list_folder", counted)
    found = discover(
        [str(path) for path in sorted(data.glob("orders-*"))],
        LocalStorage(),
        selects_topic=Settings().select.selects_topic,
    )
    assert len(found.replicas) == 9
    assert set(listed.values()) == {1}


def test_a_swap_that_is_renamed_while_we_look_leaves_its_partition_for_the_next_run(
    data: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_log_dir(data, _EDGES)
    swap = _swap(data, made_batches("orders", 0, range(10)))
    original = LocalStorage.list_folder

    def renamed_then(self: LocalStorage, path: str) -> list[FileInfo]:
        found = original(self, path)
        if swap.exists() and path == str(swap.parent):
            swap.rename(swap.with_suffix(""))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "list_folder", renamed_then)
        summary = ingested(data, lake)
    assert (summary.exit_code, summary.topics, list(summary.left_out)) == (
        3,
        ["payments"],
        ["orders-0"],
    )
    assert "no such file" in summary.left_out["orders-0"]
    assert ingested(data, lake).records == 30


def test_of_a_swap_only_headers_are_read(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_log_dir(data, _EDGES)
    batches = made_batches("orders", 0, range(20), batch_records=1, value_bytes=50_000)
    swap = _swap(data, batches)
    read_bytes: list[int] = []
    original = LocalStorage.open_reader

    def counted(self: LocalStorage, path: str) -> Reader:
        reader = original(self, path)
        read = reader.read

        def counted_read(position: int, length: int) -> bytes:
            read_bytes.append(length)
            return read(position, length)

        if path == str(swap):
            monkeypatch.setattr(reader, "read", counted_read, raising=False)
        return reader

    monkeypatch.setattr(LocalStorage, "open_reader", counted)
    (orders, _) = discover(
        [str(data)], LocalStorage(), selects_topic=Settings().select.selects_topic
    ).replicas
    assert [segment.base_offset for segment in orders.segments] == [0, 20]
    assert sum(read_bytes) < swap.stat().st_size // 4


def test_the_end_of_a_swap_is_proved_by_a_checksum(data: Path) -> None:
    make_log_dir(data, _EDGES)
    *sound, last = made_batches("orders", 0, range(15))
    _swap(data, [*sound, bad_crc(last)])
    (orders, _) = discover(
        [str(data)], LocalStorage(), selects_topic=Settings().select.selects_topic
    ).replicas
    assert [segment.base_offset for segment in orders.segments] == [0, 10, 20]
    _swap(data, [*sound, last])
    (orders, _) = discover(
        [str(data)], LocalStorage(), selects_topic=Settings().select.selects_topic
    ).replicas
    assert [segment.base_offset for segment in orders.segments] == [0, 20]
