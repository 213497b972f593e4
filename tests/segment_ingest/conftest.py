"""What several of the tests of an ingest start from."""

from pathlib import Path

import pytest

from support.made_logs import make_log_dir
from support.three_logs import EDGES, VALUE_BYTES


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "data", EDGES, value_bytes=VALUE_BYTES)
