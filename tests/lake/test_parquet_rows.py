"""Rows of data files, read a row group at a time and only where they can be; what a lake names."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seglake.lake.parquet_rows import NULL_NUMBER, Within, columns_of, numbers, read_rows
from seglake.lake.tables import GAPS
from seglake.storage.errors import NotFoundError, StorageError
from support.lake_rows import Lake, rows, write_file

_NAMES = ["topic", "partition", "start_offset", "next_offset", "cause"]


def _gap_file(lake: Lake, *groups: range) -> str:
    """A file with a row group for each range of starts."""
    batches = [rows(GAPS, "orders", offsets) for offsets in groups]
    return str(lake.path / "gaps" / write_file(lake, GAPS, "orders", *batches).path)


def _read(lake: Lake, path: str, only: Sequence[Within] = ()) -> list[pa.Table]:
    return list(read_rows(lake.storage, path, _NAMES, only))


def test_each_row_group_comes_on_its_own_with_the_columns_asked_for(lake: Lake) -> None:
    first, second = _read(lake, _gap_file(lake, range(5), range(5, 9)))
    assert first.schema.names == _NAMES
    assert first.column("start_offset").to_pylist() == [0, 1, 2, 3, 4]
    assert second.column("topic").to_pylist() == ["orders"] * 4
    assert pa.types.is_dictionary(second.schema.field("topic").type)


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ([Within("start_offset", 3, 6)], [[3, 4], [5, 6]]),
        ([Within("start_offset", at_most=2)], [[0, 1, 2]]),
        ([Within("start_offset", at_least=7)], [[7, 8]]),
        ([Within("start_offset", 4, 4), Within("partition", 2, 2)], [[4]]),
        ([Within("start_offset", 4, 4), Within("partition", 3, 3)], []),
        ([Within("start_offset", 100, 200)], []),
    ],
)
def test_only_rows_that_meet_all_conditions_are_kept(
    only: list[Within], expected: list[list[int]], lake: Lake
) -> None:
    found = _read(lake, _gap_file(lake, range(5), range(5, 9)), only)
    assert [found_item.column("start_offset").to_pylist() for found_item in found] == expected


def test_row_groups_that_cannot_hold_a_row_are_not_read(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _gap_file(lake, *(range(start, start + 10) for start in range(0, 100, 10)))
    read: list[int] = []
    original = pa.parquet.ParquetFile.read_row_group

    def counted(self: pa.parquet.ParquetFile, index: int, *rest: object, **named: object) -> object:
        read.append(index)
        return original(self, index, *rest, **named)  # type: ignore[arg-type]  # passed on

    monkeypatch.setattr(pa.parquet.ParquetFile, "read_row_group", counted)
    _read(lake, path, [Within("start_offset", 35, 41)])
    assert read == [3, 4]


def test_null_is_a_number_that_nothing_else_has(lake: Lake) -> None:
    file = write_file(lake, GAPS, "orders", rows(GAPS, "orders", range(2), partition=[None, 7]))
    (found,) = _read(lake, str(lake.path / "gaps" / file.path))
    assert numbers(found, "partition").tolist() == [NULL_NUMBER, 7]


def test_rows_without_a_number_are_found_by_the_one_that_stands_for_it(lake: Lake) -> None:
    file = write_file(lake, GAPS, "orders", rows(GAPS, "orders", range(2), partition=[None, 7]))
    nulls = [Within("partition", NULL_NUMBER, NULL_NUMBER)]
    (found,) = _read(lake, str(lake.path / "gaps" / file.path), nulls)
    assert found.column("start_offset").to_pylist() == [0]


def test_what_cannot_be_read_is_one_error_with_the_path(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        _read(lake, str(tmp_path / "none.parquet"))
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 is not all PAR1")
    with pytest.raises(StorageError, match=r"cannot read .*broken\.parquet: "):
        _read(lake, str(tmp_path / "broken.parquet"))
    with pytest.raises(StorageError, match="it has no column key"):
        list(read_rows(lake.storage, _gap_file(lake, range(3)), ["key"]))


def test_views_come_as_plain_columns(lake: Lake) -> None:
    written = pa.table(
        {
            "offset": pa.array([1, 2], pa.int64()),
            "value": pa.array([b"a", None], pa.binary_view()),
            "text": pa.array(["a", None], pa.string_view()),
        }
    )
    path = str(lake.path / "views.parquet")
    pq.write_table(written, path)
    (read,) = read_rows(lake.storage, path, written.column_names, [Within("offset", 1, 1)])
    assert read.to_pylist() == [{"offset": 1, "value": b"a", "text": "a"}]
    assert read.schema.types == [pa.int64(), pa.binary(), pa.string()]
    assert columns_of(lake.storage, path).types == read.schema.types
