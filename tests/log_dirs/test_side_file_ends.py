"""What files beside the segments prove by their names and as indexes, and what is no proof."""

from pathlib import Path

import pytest

from seglake.log_dirs.partition_files import partition_files
from seglake.log_dirs.side_file_ends import SideFileEnds, side_file_ends
from seglake.storage.local_storage import LocalStorage

_FAR = 1 << 27


def _ends(
    folder: Path, files: dict[str, bytes], *proved: int, is_cleaned: bool = False
) -> SideFileEnds:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    storage = LocalStorage()
    listed = partition_files(storage, str(folder), storage.list_folder(str(folder)))
    return side_file_ends(storage, listed, proved, is_cleaned=is_cleaned)


def _named(offset: int, kind: str) -> str:
    return f"{offset:020}.{kind}"


def _entry(relative_offset: int, position: int) -> bytes:
    return relative_offset.to_bytes(4, "big") + position.to_bytes(4, "big")


def _time_entry(timestamp_ms: int, relative_offset: int) -> bytes:
    return timestamp_ms.to_bytes(8, "big") + relative_offset.to_bytes(4, "big")


def test_the_last_file_beside_the_segments_is_the_one_with_the_highest_offset(
    tmp_path: Path,
) -> None:
    names = (_named(9, "snapshot"), _named(5, "index"), _named(70, "log"))
    files = dict.fromkeys((*names, f"{_named(80, 'index')}.deleted"), b"")
    assert _ends(tmp_path, files) == ((9, names[0]), {})
    packed = _named(90, "log.gz")
    assert _ends(tmp_path, {packed: b"x"}) == ((90, packed), {})


def test_no_file_proves_nothing(tmp_path: Path) -> None:
    assert _ends(tmp_path, {}) == (None, {})


@pytest.mark.parametrize(
    ("files", "proved", "believed"),
    [
        ({_named(20 + _FAR, "snapshot"): b""}, 20, 20 + _FAR),
        ({_named(21 + _FAR, "snapshot"): b""}, 20, None),
        ({_named((1 << 63) - 1, "txnindex"): b""}, 20, None),
        ({_named(21 + _FAR, "snapshot"): b""}, 0, 21 + _FAR),  # it is all there is
        ({_named(99 + _FAR, kind): b"" for kind in ("index", "timeindex")}, 20, 99 + _FAR),
        ({_named(10, "log"): b"x", _named(11 + _FAR, "index"): b""}, 0, 11 + _FAR),
        ({_named(10, "log"): b"x", _named(12 + _FAR, "index"): b""}, 0, None),
        ({_named(5, "log"): b"x", _named(7 + _FAR, "log"): b""}, 0, None),
        ({_named(_FAR, "index"): b"", _named(2 * _FAR, "snapshot"): b""}, 20, 2 * _FAR),
    ],
)
def test_a_name_far_above_all_else_proves_nothing_and_is_named(
    files: dict[str, bytes], proved: int, believed: int | None, tmp_path: Path
) -> None:
    last, ignored = _ends(tmp_path, files, proved)
    assert (None if last is None else last.offset) == believed
    garbage = [] if believed else [str(tmp_path / max(files))]
    assert [*ignored] == garbage
    assert all("no other file proves more than" in why for why in ignored.values())


@pytest.mark.parametrize(
    ("kind", "content", "lost"),
    [
        ("index", _entry(5, 190) + _entry(9, 400), 20),
        ("index", _entry(_FAR, _FAR), 11 + _FAR),
        ("index", _entry(_FAR + 1, 190), None),
        ("index", _entry(5, _FAR + 1), None),
        ("index", _entry(5, 190) + _entry((1 << 31) - 1, 400), None),
        ("index", _entry(5, 190) + _entry(4, 400), None),
        ("index", _entry(5, 190) + b"odd", None),
        ("index", bytes(range(200, 208)), None),
        ("index", bytes(4096), 10),
        ("timeindex", _time_entry(1_700_000_000_000, 9), 20),
        ("timeindex", _time_entry(1_700_000_000_000, _FAR + 1), None),
        ("timeindex", _time_entry(7, 9) + _time_entry(6, 10), None),
    ],
)
@pytest.mark.parametrize("has_empty_log", [True, False])
def test_an_index_with_an_entry_that_no_broker_writes_proves_its_name_only_and_is_named(
    kind: str, content: bytes, lost: int | None, has_empty_log: bool, tmp_path: Path
) -> None:
    files = {_named(10, kind): content} | ({_named(10, "log"): b""} if has_empty_log else {})
    last, ignored = _ends(tmp_path, files, 10)
    assert last is not None
    assert last.offset == (lost or 10)
    garbage = [str(tmp_path / _named(10, kind))]
    assert [*ignored] == (garbage if lost is None else [])
    assert all("is ignored as implausible: " in why for why in ignored.values())


@pytest.mark.parametrize(
    ("kind", "content", "end"),
    [
        ("index", _entry(5, 190) + _entry(_FAR + 6, 400), _FAR + 17),
        ("timeindex", _time_entry(1_700_000_000_000, _FAR + 1), _FAR + 12),
        ("index", _entry(5, 190) + _entry(9, _FAR + 191), 10),
    ],
)
def test_entries_of_a_cleaned_log_may_be_any_offsets_apart(
    kind: str, content: bytes, end: int, tmp_path: Path
) -> None:
    last, ignored = _ends(tmp_path, {_named(10, kind): content}, 10, is_cleaned=True)
    assert (None if last is None else last.offset) == end
    assert bool(ignored) == (end == 10)
