"""What Spark's releases have, by their versions."""

import pyspark
import pytest

from seglake.spark_features import (
    LOGGED_FAILURES,
    OLDEST_SPARK,
    PYTHON_DATA_SOURCES,
    release_of,
    spark_has,
)


@pytest.mark.parametrize("version", ["3.5.0", "3.5.9", "3.5.1-amzn-0"])
def test_spark_3_lacks_what_spark_4_brought(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    assert release_of(version) == OLDEST_SPARK
    assert [spark_has(PYTHON_DATA_SOURCES), spark_has(LOGGED_FAILURES)] == [False, False]


@pytest.mark.parametrize("version", ["4.0.0", "4.2.0", "4.3.0.dev1", "10.0.0"])
def test_spark_4_and_later_have_all_of_it(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    assert [spark_has(PYTHON_DATA_SOURCES), spark_has(LOGGED_FAILURES)] == [True, True]
