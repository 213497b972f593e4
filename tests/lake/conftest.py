"""Fixtures of the lake library's tests."""

from pathlib import Path

import pytest

from support.lake_rows import Lake, new_lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """An empty lake with its tables created."""
    return new_lake(tmp_path / "lake")
