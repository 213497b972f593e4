"""Fixtures of the ingest tests."""

from pathlib import Path

import pytest


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where a log dir is made and made again."""
    return tmp_path / "data"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"
