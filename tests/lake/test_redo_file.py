"""Redo files: whose they are, and those that this library did not write."""

import json
from pathlib import Path

import pytest

from seglake.lake.delta_commit import recover
from seglake.lake.errors import RedoFileError
from seglake.lake.tables import LOG_TABLES
from support.lake_drivers import commit
from support.lake_rows import SOURCE, Lake, next_wave


def test_foreign_file_among_the_redo_files_is_refused(lake: Lake) -> None:
    folder = Path(lake.tables.redo_folder_of(LOG_TABLES))
    folder.mkdir(parents=True)
    (folder / ".half-written.json").write_text("{")
    (folder / "notes.txt").touch()
    assert recover(lake.tables, SOURCE) == ()
    for content in ("{", "[]", "{}", '{"format": 2}', '{"format": 1, "files": [{}]}'):
        (folder / "x.json").write_text(content)
        with pytest.raises(RedoFileError, match=r"x\.json"):
            recover(lake.tables, SOURCE)


def test_redo_file_of_another_format_is_refused(lake: Lake) -> None:
    def be_newer(step: str) -> None:
        if step == "redo":
            (path,) = Path(lake.tables.redo_folder_of(LOG_TABLES)).iterdir()
            path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
            with pytest.raises(RedoFileError, match="expected format 1"):
                recover(lake.tables, SOURCE)

    assert commit(lake, next_wave(lake, "orders", range(3)), after=be_newer) == (("orders",), ())
