"""Fixtures of the lake library's tests."""

import shutil
from pathlib import Path

import pytest

from support.lake_rows import Lake, lake_at, new_lake


@pytest.fixture(scope="session")
def empty_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_lake(tmp_path_factory.mktemp("empty") / "lake").path


@pytest.fixture
def lake(empty_lake: Path, tmp_path: Path) -> Lake:
    """An empty lake with its tables created."""
    return lake_at(shutil.copytree(empty_lake, tmp_path / "lake"))
