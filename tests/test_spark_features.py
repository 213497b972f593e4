"""What Spark's releases have, by their versions."""

import pytest

from seglake.spark_features import OLDEST_SPARK, features_of, release_of


@pytest.mark.parametrize("version", ["3.5.0", "3.5.9", "3.5.1-amzn-0"])
def test_spark_3_lacks_what_spark_4_brought(version: str) -> None:
    assert release_of(version) == OLDEST_SPARK
    features = features_of(version)
    assert not features.has_python_data_sources
    assert not features.has_arrow_answers
    assert not features.has_error_conditions
    assert not features.logs_failing_queries


@pytest.mark.parametrize("version", ["4.0.0", "4.2.0", "4.3.0.dev1", "10.0.0"])
def test_spark_4_and_later_have_all_of_it(version: str) -> None:
    features = features_of(version)
    assert features.has_python_data_sources
    assert features.has_arrow_answers
    assert features.has_error_conditions
    assert features.logs_failing_queries
