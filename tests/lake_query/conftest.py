"""A lake that several files query and none changes."""

from pathlib import Path

import pytest

from support.written_lake import write_lake


@pytest.fixture(scope="session")
def lake_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("lake")
    write_lake(lake)
    return lake
