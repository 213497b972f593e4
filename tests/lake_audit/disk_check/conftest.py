"""Each test makes a lake of its own, most of them from the same made log."""

from pathlib import Path

import pytest

from support.lakes import ingested
from support.made_logs import make_log_dir


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def taken(data: Path, lake: Path) -> Path:
    """A log of 40 records that was taken whole; its log dir."""
    make_log_dir(data, {("orders", 0): [0, 20, 40]})
    ingested(data, lake)
    return data
