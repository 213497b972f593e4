"""What the tests of the environment share."""

from pathlib import Path

import pytest


@pytest.fixture
def spark_home(tmp_path: Path) -> Path:
    """The folder of a Spark that has Ivy and no other JAR."""
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    (home / "jars" / "ivy-1.jar").touch()
    return home
