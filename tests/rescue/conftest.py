"""Dead clusters, from the first disk to the hand-over: each is ingested by both engines."""

from pathlib import Path

import pytest

from support.tiers import LOCAL, TieredDisk, copied


@pytest.fixture
def disk(tmp_path: Path) -> TieredDisk:
    """A copy of the disk with Kafka's LocalTieredStorage, with its tier."""
    return copied(LOCAL, tmp_path / "disk")
