"""Lakes that add up, and copies of them to be falsified."""

import shutil
from pathlib import Path

import pytest

from support import broker_disks
from support.audits import audited
from support.lakes import ingested

_SAMPLE = Path(__file__).parents[2] / "samples" / "broker-0"


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log after the cleaner: its batches lack records, and there are gaps between them."""
    lake = tmp_path_factory.mktemp("compacted") / "lake"
    disks = broker_disks.unpacked("05_compacted") / "disks" / "after"
    ingested(disks, lake, select={"topics": ["cmp-v2"]})
    assert audited(lake).exit_code == 0
    return lake


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with a damaged batch."""
    lake = tmp_path_factory.mktemp("damaged") / "lake"
    ingested(_SAMPLE, lake, select={"topics": ["v2-none"]})
    assert audited(lake).exit_code == 0
    return lake


@pytest.fixture
def lake(compacted: Path, tmp_path: Path) -> Path:
    """A copy to be falsified."""
    return shutil.copytree(compacted, tmp_path / "lake")
