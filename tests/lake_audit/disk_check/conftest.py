"""Each test makes a lake of its own."""

from pathlib import Path

import pytest


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"
