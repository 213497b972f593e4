"""What may be committed is checked, and durable, before anything is decided."""

import pytest

from seglake.lake.errors import DataFileError, WaveError
from support.lake_drivers import commit
from support.lake_rows import PLAIN_TABLES, Lake, wave
from support.lake_states import redo_files, table_versions


def test_missing_file_is_refused_before_anything_is_committed(lake: Lake) -> None:
    mine = wave(lake, "orders", 1, range(3))
    (lake.path / "gaps" / mine.files[3].path).unlink()
    with pytest.raises(DataFileError, match="no such file"):
        commit(lake, mine)
    assert (table_versions(lake), redo_files(lake)) == ([0] * len(PLAIN_TABLES), [])


def test_file_of_another_size_is_refused_before_anything_is_committed(lake: Lake) -> None:
    mine = wave(lake, "orders", 1, range(3))
    path = lake.path / "records" / mine.files[0].path
    size_bytes = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"more")
    said = f"expected {size_bytes} bytes, found {size_bytes + 4} bytes"
    with pytest.raises(DataFileError, match=said):
        commit(lake, mine)
    assert (table_versions(lake), redo_files(lake)) == ([0] * len(PLAIN_TABLES), [])


def test_wrong_waves_are_refused(lake: Lake) -> None:
    mine = wave(lake, "orders", 1, range(3))
    wrong = {
        "it comes twice": [mine, mine],
        "belongs to records of orders": [mine._replace(topic="clicks")],
        "is below 1": [mine._replace(generation=0)],
        "comes twice": [mine._replace(files=(mine.files[0],) * 2)],
        "belongs to views of orders": [
            mine._replace(files=(mine.files[0]._replace(table="views"),))
        ],
        "cannot be seen: records was at generation 1, and is at 0": [mine._replace(generation=2)],
    }
    for reason, waves in wrong.items():
        with pytest.raises(WaveError, match=reason):
            commit(lake, *waves)
    assert (table_versions(lake), redo_files(lake)) == ([0] * len(PLAIN_TABLES), [])
