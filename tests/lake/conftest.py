"""Fixtures of the lake library's tests; helpers that other processes import lie beside this."""

import sys
from pathlib import Path

import pytest

# Spawned processes get sys.path from here, so that they find the helpers by name.
sys.path.insert(0, str(Path(__file__).parent))

from lake_rows import Lake, new_lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """An empty lake with its tables created."""
    return new_lake(tmp_path / "lake")
